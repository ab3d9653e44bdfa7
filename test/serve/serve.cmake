# attend serve: clients of the standard library of Python against the command, on this machine.
if(MICROHTTPD_FOUND AND Python3_FOUND)
  foreach(name api equal explore limits smuggling slow gone signals page clients libretranslate mutations)
    add_test(NAME serve_${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py $<TARGET_FILE:attend_command>)
    set_tests_properties(serve_${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
                         ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1:exitcode=66:suppressions=${PROJECT_SOURCE_DIR}/test/tsan.supp;${ATTEND_LSAN}")
  endforeach()
  set(THREADED_SERVE serve_equal serve_explore serve_gone serve_signals fuzz_handler) # for make tsan
else()
  message(STATUS "without libmicrohttpd or python3: attend serve is not tested")
endif()
# One allocation after the other is refused. Sanitizers replace malloc themselves.
if(MICROHTTPD_FOUND AND Python3_FOUND AND NOT ATTEND_SANITIZE AND NOT ATTEND_THREAD_SANITIZE)
  add_library(refuse_memory MODULE ${PROJECT_SOURCE_DIR}/test/support/refuse_memory.c)
  add_test(NAME serve_memory COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_memory.py $<TARGET_FILE:attend_command> $<TARGET_FILE:refuse_memory>)
  set_tests_properties(serve_memory PROPERTIES TIMEOUT 900)
  # the command, with the same library
  add_test(NAME cli_shortlist_memory COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/test/cli/shortlist_memory.py $<TARGET_FILE:attend_command>
                                             $<TARGET_FILE:refuse_memory>)
  add_library(other_microhttpd MODULE ${PROJECT_SOURCE_DIR}/test/support/other_microhttpd.c)
  target_include_directories(other_microhttpd PRIVATE ${MICROHTTPD_INCLUDE_DIRS})
  target_link_libraries(other_microhttpd PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME serve_other_microhttpd COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_gone.py $<TARGET_FILE:attend_command>)
  set_tests_properties(serve_other_microhttpd PROPERTIES TIMEOUT 600 ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:other_microhttpd>")
endif()
if(MICROHTTPD_FOUND AND Python3_FOUND)
  add_test(NAME serve_unit COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_unit.py $<TARGET_FILE:attend_command> ${PROJECT_BINARY_DIR}/cli/attend.service
                                   ${PROJECT_SOURCE_DIR}/cli/serve/system/attend.socket)
  set_tests_properties(serve_unit PROPERTIES SKIP_RETURN_CODE 77)
endif()
