# Compares both libraries with results of PyTorch (golden/*.golden, made by tools/make_goldens.py, tools/make_attention_goldens.py, tools/lstmn_reference.py,
# tools/make_model_goldens.py and tools/make_transformer_goldens.py).
# The programs accept another directory of goldens as argument.
set(SIMDE $<TARGET_EXISTS:attend_avx512_simde>) # defined in simde.cmake
foreach(part attention cells lstmn models ops optimizers)
  foreach(library attend attend_double)
    string(REPLACE attend golden_${part} name ${library})
    attend_test(${name} ${library} golden/test_golden_${part}.c golden/golden.c golden/rig.c)
    target_compile_definitions(${name} PRIVATE GOLDEN_DIRECTORY="${CMAKE_CURRENT_LIST_DIR}")
  endforeach()
  target_sources(golden_${part} PRIVATE $<${SIMDE}:$<TARGET_OBJECTS:attend_avx512_simde>> $<${SIMDE}:$<TARGET_OBJECTS:attend_vnni_simde>>
                                               $<${SIMDE}:$<TARGET_OBJECTS:attend_bf16_simde>>)
  target_compile_definitions(golden_${part} PRIVATE $<${SIMDE}:ATTEND_TEST_SIMDE>)
endforeach()
attend_test(golden_reader attend golden/test_golden_reader.c golden/golden.c)

# Compares with scores of sacreBLEU (golden/metric_*.golden, made by tools/make_metric_goldens.py).
attend_test(golden_metrics attend golden/test_golden_metrics.c)
target_compile_definitions(golden_metrics PRIVATE GOLDEN_DIRECTORY="${CMAKE_CURRENT_LIST_DIR}")
