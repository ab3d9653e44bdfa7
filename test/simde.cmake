# The AVX-512 kernels, emulated by SIMDe, so that they are tested on machines without AVX-512: the table attend_simde512_table (see
# support/kernel_tables.h) is linked into the tests of kernels. Only with gcc and without sanitizers, because it takes minutes to compile; the same
# sources are compiled and tested as AVX2 in every build.
if(NOT ATTEND_SANITIZE AND NOT ATTEND_THREAD_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  find_path(ATTEND_SIMDE_INCLUDE simde/x86/avx512.h REQUIRED)
  set(EMULATED "")
  foreach(part table rows cells activations additive packed int8)
    list(APPEND EMULATED ${PROJECT_SOURCE_DIR}/src/kernel/vector_${part}.c)
  endforeach()
  add_library(attend_avx512_simde OBJECT ${EMULATED})
  # With AVX2 and FMA the emulation rounds like AVX-512 (fused operations once). No function in another file takes a vector, so the
  # warning about passing vectors (psabi) does not apply. The packed product would take half a minute to compile at -O2.
  target_compile_options(attend_avx512_simde PRIVATE -O2 -mavx2 -mfma -Wno-psabi)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernel/vector_packed.c PROPERTIES COMPILE_OPTIONS -O1)
  target_compile_definitions(attend_avx512_simde PRIVATE ATTEND_AVX512_EMULATION="support/simde_avx512.h" ATTEND_VECTOR_HEADER="kernel/vec_avx512.h")
  target_include_directories(attend_avx512_simde PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                                         ${CMAKE_CURRENT_SOURCE_DIR})
  # The table of VNNI shares all but the products of 8-bit numbers.
  add_library(attend_vnni_simde OBJECT ${PROJECT_SOURCE_DIR}/src/kernel/vector_table_vnni.c ${PROJECT_SOURCE_DIR}/src/kernel/vector_int8.c)
  target_compile_options(attend_vnni_simde PRIVATE -O2 -mavx2 -mfma -Wno-psabi)
  target_compile_definitions(attend_vnni_simde PRIVATE ATTEND_AVX512_EMULATION="support/simde_avx512.h" ATTEND_VECTOR_HEADER="kernel/vec_avx512vnni.h")
  target_include_directories(attend_vnni_simde PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  # The table of BF16 adds its products to that of VNNI, and the table of AMX those of tiles, in plain C (support/plain_tiles.h).
  add_library(attend_bf16_simde OBJECT ${PROJECT_SOURCE_DIR}/src/kernel/vector_table_bf16.c ${PROJECT_SOURCE_DIR}/src/kernel/vector_bf16.c
                                       ${PROJECT_SOURCE_DIR}/src/kernel/vector_amx.c)
  target_compile_options(attend_bf16_simde PRIVATE -O1 -mavx2 -mfma -Wno-psabi)
  target_compile_definitions(attend_bf16_simde PRIVATE ATTEND_AVX512_EMULATION="support/simde_avx512.h" ATTEND_VECTOR_HEADER="kernel/vec_avx512bf16.h"
                                                       ATTEND_TILE_EMULATION="support/plain_tiles.h")
  target_include_directories(attend_bf16_simde PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(name test_additive test_elementary test_halves test_kernels test_packed)
    if(TARGET ${name})
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:attend_avx512_simde> $<TARGET_OBJECTS:attend_vnni_simde> $<TARGET_OBJECTS:attend_bf16_simde>)
      target_compile_definitions(${name} PRIVATE ATTEND_TEST_SIMDE)
    endif()
  endforeach()
endif()
