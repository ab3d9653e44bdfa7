# Tests that the installed files suffice to run the command and to build programs. Not with sanitizers, which these programs would have to link too.
if(NOT ATTEND_SANITIZE AND TARGET attend_manual)
  add_test(NAME install COMMAND ${CMAKE_CURRENT_LIST_DIR}/install.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}/examples
                                ${PROJECT_BINARY_DIR}/examples/reverse.model)
  set_tests_properties(install PROPERTIES FIXTURES_REQUIRED example_model) # made by examples/
endif()
