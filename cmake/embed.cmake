# cmake -DDIRECTORY=src/view -DOUT=page_parts.c -P embed.cmake
# Writes the page of src/view/ as C arrays, with the hashes by which its Content-Security-Policy allows its script and style and nothing else.

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

# The bytes of files, concatenated.
function(part_of name out)
  set(hex "")
  foreach(file ${ARGN})
    file(READ ${DIRECTORY}/${file} more HEX)
    string(APPEND hex "${more}")
  endforeach()
  string(REGEX REPLACE "(................................)" "\\1\n    " lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " lines "${lines}")
  set(${out} "static const unsigned char ${name}[] = {\n    ${lines}\n};
const attend_page_part attend_page_${name} = { ${name}, sizeof ${name} };\n\n" PARENT_SCOPE)
endfunction()

# A browser hashes the text between the tags.
function(hash_of name out)
  set(whole "")
  foreach(file ${ARGN})
    file(READ ${DIRECTORY}/${file} text)
    string(APPEND whole "${text}")
  endforeach()
  string(SHA256 hex "${whole}")
  base64_of(${hex} text)
  set(${out} "const char attend_page_${name}_hash[] = \"sha256-${text}\";\n" PARENT_SCOPE)
endfunction()

set(scripts page_map.js page_draw.js page.js)
part_of(frame frame page.html)
part_of(style style page.css)
part_of(script script ${scripts})
hash_of(style style_hash page.css)
hash_of(script script_hash ${scripts})
file(WRITE ${OUT} "/* Made by cmake/embed.cmake. */\n#include \"view/page.h\"\n\n${frame}${style}${script}${style_hash}${script_hash}")
