# The ONNX node cases, which are not part of this repository: the runner takes a directory of cases, and its test runs those in ATTEND_ONNX_CASES,
# if present.
set(CONFORMANCE ${CMAKE_CURRENT_LIST_DIR})
file(GLOB CONFORMANCE_OPERATORS CONFIGURE_DEPENDS ${CONFORMANCE}/op_*.c)
add_library(conformance_reader OBJECT ${CONFORMANCE}/protobuf.c ${CONFORMANCE}/onnx_model.c
                                      ${CONFORMANCE}/onnx_tensor.c ${CONFORMANCE}/compare.c)
add_library(conformance_operators OBJECT ${CONFORMANCE}/operators.c ${CONFORMANCE_OPERATORS})
target_link_libraries(conformance_operators PRIVATE attend)

add_executable(conformance_onnx ${CONFORMANCE}/conformance_onnx.c ${CONFORMANCE}/case.c)
target_link_libraries(conformance_onnx PRIVATE conformance_reader conformance_operators attend m Threads::Threads)

# The test fails if no case passes.
add_test(NAME conformance_onnx
         COMMAND conformance_onnx --if-present ${ATTEND_ONNX_CASES})
set_tests_properties(conformance_onnx PROPERTIES
                     FAIL_REGULAR_EXPRESSION "\n0 passed"
                     SKIP_RETURN_CODE 77)

attend_test(test_onnx_compare conformance_reader ${CONFORMANCE}/test_onnx_compare.c)
foreach(name test_onnx_reader test_onnx_hostile)
  attend_test(${name} conformance_reader ${CONFORMANCE}/${name}.c ${CONFORMANCE}/reader_support.c
              ${CONFORMANCE}/encode.c)
endforeach()
attend_test(test_onnx_rnn attend ${CONFORMANCE}/test_onnx_rnn.c)
target_link_libraries(test_onnx_rnn PRIVATE conformance_reader conformance_operators)
attend_test(test_onnx_runner m ${CONFORMANCE}/test_onnx_runner.c ${CONFORMANCE}/encode.c)
target_compile_definitions(test_onnx_runner PRIVATE CONFORMANCE_ONNX="$<TARGET_FILE:conformance_onnx>")
add_dependencies(test_onnx_runner conformance_onnx)
