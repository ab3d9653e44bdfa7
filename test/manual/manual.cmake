# Man pages and completions, as cli/manual writes them.
if(TARGET attend_manual)
  add_test(NAME manual COMMAND ${CMAKE_CURRENT_LIST_DIR}/manual.sh $<TARGET_FILE:attend_command> ${PROJECT_BINARY_DIR}/manual)
  add_test(NAME manual_bash COMMAND ${CMAKE_CURRENT_LIST_DIR}/bash.sh ${PROJECT_BINARY_DIR}/manual/attend.bash)
endif()
