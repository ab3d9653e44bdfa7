# Man pages and completions, as cli/manual writes them.
if(TARGET attend_manual)
  add_test(NAME manual COMMAND ${CMAKE_CURRENT_LIST_DIR}/manual.sh $<TARGET_FILE:attend_command> ${PROJECT_BINARY_DIR}/manual)
  add_test(NAME manual_bash COMMAND ${CMAKE_CURRENT_LIST_DIR}/bash.sh ${PROJECT_BINARY_DIR}/manual/attend.bash)
  foreach(tool mandoc zsh fish)
    add_test(NAME manual_${tool} COMMAND ${CMAKE_CURRENT_LIST_DIR}/tool.sh ${tool} ${PROJECT_BINARY_DIR}/manual)
    set_tests_properties(manual_${tool} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
