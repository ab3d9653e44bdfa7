# cmake -DDIRECTORY=src/view -DNAME=attend_page -DHEADER=view/page.h -DFRAME=page.html -DSTYLE=page.css "-DSCRIPTS=page_map.js page.js" -DOUT=page_parts.c
#       -P embed.cmake
# Writes a page as C arrays (NAME_frame, NAME_style, NAME_script), with the hashes by which its Content-Security-Policy allows its script and style and
# nothing else. With -DJOIN=ON: as one array, NAME_document, in which {{style}} and {{script}} are replaced.

# 64 hexadecimal digits (256 bits) in base 64: three digits make two letters; the padding of eight zero bits makes the last letter a "=".
function(base64_of hex out)
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}00" ${at} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING "${letters}" ${high} 1 first)
    string(SUBSTRING "${letters}" ${low} 1 second)
    string(APPEND text "${first}${second}")
  endforeach()
  string(REGEX REPLACE ".$" "=" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The bytes of files, concatenated, in hexadecimal.
function(read_files out)
  set(hex "")
  foreach(file ${ARGN})
    file(READ ${DIRECTORY}/${file} more HEX)
    string(APPEND hex "${more}")
  endforeach()
  set(${out} "${hex}" PARENT_SCOPE)
endfunction()

function(part_of name hex)
  string(REGEX REPLACE "(................................)" "\\1\n    " lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " lines "${lines}")
  file(APPEND ${OUT} "static const unsigned char ${name}[] = {\n    ${lines}\n};
const ${NAME}_part ${NAME}_${name} = { ${name}, sizeof ${name} };\n\n")
endfunction()

# A browser hashes the text between the tags.
function(hash_of name)
  set(whole "")
  foreach(file ${ARGN})
    file(READ ${DIRECTORY}/${file} text)
    string(APPEND whole "${text}")
  endforeach()
  string(SHA256 hex "${whole}")
  base64_of(${hex} text)
  file(APPEND ${OUT} "const char ${NAME}_${name}_hash[] = \"sha256-${text}\";\n")
endfunction()

separate_arguments(SCRIPTS)
file(WRITE ${OUT} "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n\n")
read_files(frame ${FRAME})
read_files(style ${STYLE})
read_files(script ${SCRIPTS})
if(JOIN)
  string(HEX "{{style}}" mark)
  string(REPLACE "${mark}" "${style}" frame "${frame}")
  string(HEX "{{script}}" mark)
  string(REPLACE "${mark}" "${script}" frame "${frame}")
  part_of(document "${frame}")
else()
  part_of(frame "${frame}")
  part_of(style "${style}")
  part_of(script "${script}")
endif()
hash_of(style ${STYLE})
hash_of(script ${SCRIPTS})
