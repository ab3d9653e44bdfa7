# Compares tensor files, byte-pair encoding and scores with other programs and plain definitions. Needs Python.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_executable(tensor_file_tool peer/tensor_file_tool.c)
  target_include_directories(tensor_file_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(tensor_file_tool PRIVATE attend)
  add_test(NAME peer_tensor_file COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/check_tensor_file.py
                                         $<TARGET_FILE:tensor_file_tool>)
  add_test(NAME peer_model_file COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_model_file.py
                                        ${PROJECT_BINARY_DIR}/reverses.model) # made by recipes/
  set_tests_properties(peer_model_file PROPERTIES FIXTURES_REQUIRED reverses)
  add_executable(bpe_tool peer/bpe_tool.c)
  target_include_directories(bpe_tool PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(bpe_tool PRIVATE attend)
  add_test(NAME peer_bpe COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/check_bpe.py $<TARGET_FILE:bpe_tool>)

  add_executable(metric_tool peer/metric_tool.c)
  target_include_directories(metric_tool PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(metric_tool PRIVATE attend)
  add_test(NAME peer_metrics COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_metrics.py
                                     $<TARGET_FILE:metric_tool>)
  add_test(NAME peer_evaluate COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_evaluate.py $<TARGET_FILE:attend_command>)

  add_executable(page_tool peer/page_tool.c) # tests the page of attend_view_html in a browser, if chromium is installed
  target_include_directories(page_tool PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(page_tool PRIVATE attend m)
  add_test(NAME peer_page COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_page.py $<TARGET_FILE:page_tool>)
  set_tests_properties(peer_page PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
