# Tests of operations, models and decoding again with slower kernel tables than the best of this machine:
#   table_TABLE_X   skipped where the machine does not support the table
# test_kernels and its neighbours compare the kernels of all tables with each other.
set(TABLES plain neon)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
  set(TABLES plain avx2 avx512)
endif()
foreach(table ${TABLES})
  foreach(name conformance_onnx test_models test_search)
    set(arguments "")
    if(name STREQUAL "conformance_onnx")
      set(arguments --if-present ${ATTEND_ONNX_CASES})
    endif()
    get_property(environment TEST ${name} PROPERTY ENVIRONMENT)
    add_test(NAME table_${table}_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/support/on_table.sh $<TARGET_FILE:attend_command> ${table} $<TARGET_FILE:${name}>
                                                 ${arguments})
    set_tests_properties(table_${table}_${name} PROPERTIES ENVIRONMENT "${environment};ATTEND_KERNEL=${table}" FAIL_REGULAR_EXPRESSION "\n0 passed"
                         SKIP_RETURN_CODE 77)
  endforeach()
endforeach()
