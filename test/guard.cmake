# The tests of operations, attention, models, decoding and training a second time, on the guard device (src/device/guard.c): guard_X, label `guard`. Not in
# builds with sanitizers, where every allocation of an arena is a block of its own, of which guard would search thousands; there test_guard alone
# tests it. The cross build has no guard tests: the checks do not depend on the processor.
if(ATTEND_SANITIZE OR ATTEND_THREAD_SANITIZE)
  return()
endif()
set(GUARDED
    test_tape test_faults test_lstmn test_scores # operations
    test_attention_agreement test_attention_blocks test_attention_faults test_attention_leaks test_attention_properties test_attention_refusals
    test_attention_sizes test_attention_stored test_beam_cache test_cache test_hard_attention # attention
    gradient_test_attention gradient_test_cells gradient_test_lstmn gradient_test_models gradient_test_ops
    golden_attention golden_cells golden_lstmn golden_models golden_ops golden_optimizers
    golden_attention_double golden_cells_double golden_lstmn_double golden_models_double golden_ops_double golden_optimizers_double
    test_onnx_rnn # conformance; the cases are below
    test_average test_build test_language_models test_model_faults test_model_file test_model_threads test_models test_quantization # models
    test_map_selection test_sampling test_scoring test_search test_translating test_translator # decoding
    test_checkpoint test_fine_tuning test_missing_model test_team test_trainer test_training_end) # training
foreach(name ${GUARDED})
  add_test(NAME guard_${name} COMMAND ${name})
  get_property(environment TEST ${name} PROPERTY ENVIRONMENT)
  set_tests_properties(guard_${name} PROPERTIES ENVIRONMENT "${environment};ATTEND_DEVICE=guard" LABELS guard)
endforeach()
add_test(NAME guard_conformance_onnx COMMAND conformance_onnx --if-present ${ATTEND_ONNX_CASES})
set_tests_properties(guard_conformance_onnx PROPERTIES ENVIRONMENT ATTEND_DEVICE=guard LABELS guard
                     FAIL_REGULAR_EXPRESSION "\n0 passed" SKIP_RETURN_CODE 77)
