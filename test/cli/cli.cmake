# The command as a user meets it: what it prints, and the code it ends with.
add_test(NAME cli_info COMMAND ${CMAKE_CURRENT_LIST_DIR}/info.sh $<TARGET_FILE:attend_command> ${PROJECT_BINARY_DIR}/reverses.model)
set_tests_properties(cli_info PROPERTIES FIXTURES_REQUIRED reverses) # made by recipes/
add_test(NAME cli_train COMMAND ${CMAKE_CURRENT_LIST_DIR}/train.sh $<TARGET_FILE:attend_command> ${PROJECT_BINARY_DIR}/reverses.model)
set_tests_properties(cli_train PROPERTIES FIXTURES_REQUIRED reverses)
add_test(NAME cli_kill COMMAND ${CMAKE_CURRENT_LIST_DIR}/kill.sh $<TARGET_FILE:attend_command> 4)
