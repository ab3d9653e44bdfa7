# cmake -DHEADERS="a.h;b.h" -DVERSION_NODE=ATTEND_0.2 -DOUT=attend.map -P exports.cmake
# Writes a linker version script that exports the functions and variables which the public headers declare, and hides everything else.
# Without VERSION_NODE: a list of them for --dynamic-list, which a program exports to the plug-ins it loads, and OUT.ld, a linker script that takes
# them from a static library although the program does not use them.
set(names "")
foreach(header ${HEADERS})
  file(READ ${header} text)
  string(REPLACE "[" "<" text "${text}") # brackets and semicolons are special in CMake's lists
  string(REPLACE ";" "$" text "${text}")
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE "#[^\n]*" "" text "${text}")
  string(REGEX REPLACE "static inline [^(]*\\(" "" text "${text}") # defined in the header
  string(REGEX MATCHALL "attend_[a-z0-9_]+\\(" functions "${text}")
  string(REPLACE "(" "" functions "${functions}")
  list(APPEND names ${functions})
  string(REGEX MATCHALL "extern [a-z][^($]*\\$" statements "${text}")
  foreach(statement ${statements})
    string(REGEX MATCHALL "attend_[a-z0-9_]+[,<$]" variables "${statement}")
    string(REGEX REPLACE "[,<$]" "" variables "${variables}")
    list(APPEND names ${variables})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(SORT names)
if(NOT VERSION_NODE)
  list(JOIN names " " wanted)
  file(WRITE ${OUT}.ld "EXTERN(${wanted})\n")
  list(JOIN names ";\n  " names)
  file(WRITE ${OUT} "{\n  ${names};\n};\n")
  return()
endif()
list(JOIN names ";\n    " names)
file(WRITE ${OUT} "${VERSION_NODE} {\n  global:\n    ${names};\n  local:\n    *;\n};\n")
