# The scripts that check the sources find what they are meant to find.
add_test(NAME tools_check_layers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_check_layers.py ${PROJECT_SOURCE_DIR}/tools/check_layers.py)
