# Every public function with every argument wrong in turn. A script writes the calls from the headers.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(MISUSE_CALLS ${CMAKE_CURRENT_BINARY_DIR}/misuse_calls.c)
  file(GLOB MISUSE_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/attend/*.h)
  add_custom_command(OUTPUT ${MISUSE_CALLS} DEPENDS ${MISUSE_HEADERS} ${PROJECT_SOURCE_DIR}/tools/make_misuse_test.py
                     COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/make_misuse_test.py ${PROJECT_SOURCE_DIR}/include/attend ${MISUSE_CALLS}
                     COMMENT "Writing the calls of test_misuse" VERBATIM)
  add_executable(test_misuse ${CMAKE_CURRENT_LIST_DIR}/run.c ${CMAKE_CURRENT_LIST_DIR}/objects.c ${MISUSE_CALLS})
  target_include_directories(test_misuse PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(test_misuse PRIVATE -Wno-format-security) # formats are arguments too
  target_link_libraries(test_misuse PRIVATE attend attend_view m)
  add_test(NAME test_misuse COMMAND test_misuse)
  set_tests_properties(test_misuse PROPERTIES ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2000:detect_leaks=0")
else()
  message(STATUS "without python3: test_misuse is not built")
endif()
