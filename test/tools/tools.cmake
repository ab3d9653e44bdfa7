# The scripts that check the sources find what they are meant to find, and pictures are up to date.
add_test(NAME tools_check_layers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_check_layers.py ${PROJECT_SOURCE_DIR}/tools/check_layers.py)
add_test(NAME tools_architecture_picture COMMAND ${CMAKE_CURRENT_LIST_DIR}/architecture_picture.sh ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR})
add_test(NAME tools_no_printf COMMAND ${CMAKE_CURRENT_LIST_DIR}/no_printf.sh ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/cli/no_printf.h)
