# Targets for fuzzing: test/fuzz/fuzz_NAME.c, see fuzz/fuzz.h. A new one is a line at the end.
add_custom_target(fuzzers)
function(attend_fuzz name)
  attend_test(fuzz_${name} attend fuzz/fuzz_${name}.c fuzz/replay.c)
  if(ATTEND_FUZZ)
    add_executable(libfuzzer_${name} fuzz/fuzz_${name}.c)
    target_include_directories(libfuzzer_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(libfuzzer_${name} PRIVATE attend m Threads::Threads)
    target_link_options(libfuzzer_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${name} libfuzzer_${name})
  endif()
endfunction()

attend_fuzz(tensor_file)
