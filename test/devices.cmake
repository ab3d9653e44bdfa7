# The tests of operations, attention, models, decoding and training again on other devices:
#   guard_X  label `guard`: on the guard device (src/device/guard.c)
#   cuda_X   label `cuda`: on the CUDA plug-in, compiled for the CPU (src/device/cuda/emulation.h), which needs no GPU
#   gpu_X    label `gpu`: on the CUDA plug-in, with ATTEND_GPU_TESTS (make test-cuda)
# Not in builds with sanitizers: every allocation of an arena is a block of its own there, of which guard would search thousands, and test_guard alone
# tests it; and AddressSanitizer does not follow the coroutines of the emulation. The cross build has none of them: the checks do not depend on the
# processor.
if(ATTEND_SANITIZE OR ATTEND_THREAD_SANITIZE)
  return()
endif()
set(ON_DEVICES
    test_tape test_faults test_lstmn test_scores # operations
    test_attention_agreement test_attention_blocks test_attention_faults test_attention_leaks test_attention_properties test_attention_refusals
    test_attention_sizes test_attention_stored test_beam_cache test_cache test_hard_attention # attention
    gradient_test_attention gradient_test_cells gradient_test_lstmn gradient_test_models gradient_test_ops
    golden_attention golden_cells golden_lstmn golden_models golden_ops golden_optimizers
    golden_attention_double golden_cells_double golden_lstmn_double golden_models_double golden_ops_double golden_optimizers_double
    test_onnx_rnn # conformance; the cases are below
    test_average test_build test_language_models test_model_faults test_model_file test_model_threads test_models test_quantization # models
    test_map_selection test_sampling test_scoring test_search test_translating test_translator # decoding
    test_checkpoint test_fine_tuning test_missing_model test_rank_training test_team test_trainer test_training_end) # training

# device_tests(PREFIX DEVICE FLOAT DOUBLE TESTS...): tests on a device; ATTEND_CUDA names the plug-in FLOAT, for tests of the double-precision twin DOUBLE.
function(device_tests prefix device float double)
  foreach(name ${ARGN})
    set(plugin ${float})
    if(name MATCHES "^gradient_|_double$")
      set(plugin ${double})
    endif()
    if(name STREQUAL "conformance_onnx")
      add_test(NAME ${prefix}_${name} COMMAND ${name} --if-present ${ATTEND_ONNX_CASES})
      set_tests_properties(${prefix}_${name} PROPERTIES FAIL_REGULAR_EXPRESSION "\n0 passed" SKIP_RETURN_CODE 77)
      set(environment "")
    else()
      add_test(NAME ${prefix}_${name} COMMAND ${name})
      get_property(environment TEST ${name} PROPERTY ENVIRONMENT)
    endif()
    list(APPEND environment ATTEND_DEVICE=${device})
    if(plugin)
      list(APPEND environment ATTEND_CUDA=${plugin})
    endif()
    set_tests_properties(${prefix}_${name} PROPERTIES ENVIRONMENT "${environment}" LABELS ${prefix})
  endforeach()
endfunction()

# Not on a GPU: test_compute expects a device without tf32; the others have not run there yet.
set(ON_GUARD test_alignment_head test_compute test_guided_training test_map test_members)
device_tests(guard guard "" "" ${ON_DEVICES} ${ON_GUARD} conformance_onnx)
# Programs that run on a GPU (tools/test_cuda.sh), and their names, one on each line.
add_custom_target(device_programs DEPENDS ${ON_DEVICES} conformance_onnx attend_command)
list(JOIN ON_DEVICES "\n" shown)
file(WRITE ${PROJECT_BINARY_DIR}/test/on_devices.txt "${shown}\n")

# ---- the CUDA plug-in for the CPU: tests load it, and it is not installed ----

file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/cuda/*.cu)
set_source_files_properties(${CUDA_SOURCES} PROPERTIES LANGUAGE CXX) # in this directory only

# attend_emulates_cuda(NAME): settings of a target with kernels, or with a program that calls them.
function(attend_emulates_cuda name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE ATTEND_CUDA_EMULATED _GNU_SOURCE)
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-conversion;-Wno-shadow;-Wno-unknown-pragmas;-Wno-pass-failed>")
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
endfunction()

foreach(name attend_cuda_emulated attend_cuda_emulated_double)
  add_library(${name}_objects OBJECT ${CUDA_SOURCES} ${PROJECT_SOURCE_DIR}/src/device/cuda/emulation.cpp)
  attend_emulates_cuda(${name}_objects)
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects> ${PROJECT_SOURCE_DIR}/src/device/cuda/table.c)
  attend_emulates_cuda(${name})
  target_link_options(${name} PRIVATE LINKER:--no-undefined)
  target_link_libraries(${name} PRIVATE Threads::Threads)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
endforeach()
target_compile_definitions(attend_cuda_emulated_double_objects PRIVATE ATTEND_DOUBLE)
target_compile_definitions(attend_cuda_emulated_double PRIVATE ATTEND_DOUBLE)

# Attention of the plug-in compared with that of the CPU, for random combinations.
add_executable(test_cuda_attention cuda/attention_test.cpp $<TARGET_OBJECTS:attend_cuda_emulated_objects>)
attend_emulates_cuda(test_cuda_attention)
target_link_libraries(test_cuda_attention PRIVATE attend Threads::Threads m)
add_test(NAME cuda_attention COMMAND test_cuda_attention 1 24)
set_tests_properties(cuda_attention PROPERTIES LABELS cuda SKIP_RETURN_CODE 77)
# Those that end within a minute there and do not refuse memory: the others run on a GPU (make test-cuda).
device_tests(cuda cuda $<TARGET_FILE:attend_cuda_emulated> $<TARGET_FILE:attend_cuda_emulated_double>
             test_tape test_scores test_attention_refusals test_attention_stored test_average test_build test_cache
             gradient_test_ops golden_attention golden_cells golden_lstmn golden_optimizers golden_ops golden_ops_double)

target_compile_definitions(test_device_faults PRIVATE EMULATED_PLUGIN="$<TARGET_FILE:attend_cuda_emulated>")
add_dependencies(test_device_faults attend_cuda_emulated)
