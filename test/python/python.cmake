# Tests of the Python package, with pytest. Skipped where Python's headers or pytest are not installed.
if(NOT TARGET attend_python)
  return()
endif()

# The first interpreter that has pytest; CMake may have found another one than Debian's.
foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
  execute_process(COMMAND ${candidate} -c "import pytest" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(ATTEND_PYTEST_PYTHON ${candidate})
    break()
  endif()
endforeach()
if(NOT ATTEND_PYTEST_PYTHON)
  message(STATUS "pytest is not installed: the tests of the Python package are not run")
  return()
endif()

set(ENVIRONMENT ATTEND=$<TARGET_FILE:attend_command> ATTEND_FIXTURES=${CMAKE_CURRENT_SOURCE_DIR}/data/v0.1
                PYTHONPATH=${PROJECT_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1)
if(ATTEND_SANITIZE) # the interpreter is not instrumented: the runtime is loaded before it, and its own leaks are not ours
  foreach(runtime libasan.so libubsan.so)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${runtime} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND RUNTIMES ${path})
  endforeach()
  list(JOIN RUNTIMES " " RUNTIMES)
  list(APPEND ENVIRONMENT "LD_PRELOAD=${RUNTIMES}" PYTHONMALLOC=malloc
       "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
endif()

# attend_python_test(NAME INTERPRETER FILES...): runs test/python/FILES; 5 is pytest's status if all tests were skipped.
function(attend_python_test name interpreter)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/python/)
  set(scratch ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(MAKE_DIRECTORY ${scratch})
  add_test(NAME ${name} COMMAND ${interpreter} -m pytest -q -p no:cacheprovider --basetemp=${scratch}/tmp ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ENVIRONMENT};ATTEND_SCRATCH=${scratch}" SKIP_RETURN_CODE 5)
endfunction()

if(NOT ATTEND_THREAD_SANITIZE)
  file(GLOB PYTHON_TESTS CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python python/test_*.py)
  foreach(file ${PYTHON_TESTS})
    string(REGEX REPLACE "^test_(.*)\\.py$" "python_\\1" name ${file})
    attend_python_test(${name} ${ATTEND_PYTEST_PYTHON} ${file})
  endforeach()
endif()
