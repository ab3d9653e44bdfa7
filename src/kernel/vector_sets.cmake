# Every instruction set is a compilation of the same vector sources; see kernel.h. Sets VECTOR_OBJECTS, the objects of all sets for this kind of
# processor, and VECTOR_DEFINITION, which tells kernel.c of them. Also included by the cross build (test/cross).
set(KERNEL_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})
set(VECTOR_SOURCES "")
foreach(part table rows cells activations additive packed int8)
  list(APPEND VECTOR_SOURCES ${KERNEL_DIRECTORY}/vector_${part}.c)
endforeach()
set(VECTOR_SOURCES_avx2 ${VECTOR_SOURCES})
set(VECTOR_SOURCES_avx512 ${VECTOR_SOURCES})
set(VECTOR_SOURCES_avx512vnni ${KERNEL_DIRECTORY}/vector_table_vnni.c ${KERNEL_DIRECTORY}/vector_int8.c) # the rest is that of avx512
set(VECTOR_SOURCES_avx512bf16 ${KERNEL_DIRECTORY}/vector_table_bf16.c ${KERNEL_DIRECTORY}/vector_bf16.c) # the rest is that of avx512vnni
set(VECTOR_SOURCES_amx ${KERNEL_DIRECTORY}/vector_amx.c) # the rest is that of avx512bf16
set(VECTOR_SOURCES_neon ${VECTOR_SOURCES})
set(VECTOR_SOURCES_neondot ${KERNEL_DIRECTORY}/vector_table_neondot.c ${KERNEL_DIRECTORY}/vector_int8.c) # the rest is that of neon
set(VECTOR_OBJECTS "")
set(VECTOR_SETS "")
set(VECTOR_DEFINITION "")
if(ATTEND_FUZZ)
  # none: the fuzzed file readers use no kernels, and these take minutes to compile
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(VECTOR_SETS avx2 avx512 avx512vnni avx512bf16 amx)
  set(VECTOR_DEFINITION ATTEND_X86)
  set(VECTOR_FLAGS_avx2 -mavx2 -mfma)
  set(VECTOR_FLAGS_avx512 -mavx512f -mavx512bw -mfma -mprefer-vector-width=512)
  set(VECTOR_FLAGS_avx512vnni ${VECTOR_FLAGS_avx512} -mavx512vnni)
  set(VECTOR_FLAGS_avx512bf16 ${VECTOR_FLAGS_avx512vnni} -mavx512bf16)
  set(VECTOR_FLAGS_amx ${VECTOR_FLAGS_avx512bf16} -mamx-tile -mamx-bf16 -mamx-int8)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$") # kernel.c asks Linux for the extensions
  set(VECTOR_SETS neon neondot) # every aarch64 processor has NEON
  set(VECTOR_DEFINITION ATTEND_NEON)
  # gcc schedules before it allocates registers and then spills sums, which costs more than the order of instructions gains.
  set(VECTOR_FLAGS_neon $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns>)
  set(VECTOR_FLAGS_neondot ${VECTOR_FLAGS_neon} -march=armv8.2-a+dotprod)
endif()
set(VECTOR_LEVEL -O3)
if(ATTEND_SANITIZE)
  set(VECTOR_LEVEL -O1) # checks in every unrolled step: at -O3 clang takes minutes over one file
endif()
if(NOT ATTEND_SANITIZE)
  # The tiles are unrolled in the source; what -O3 adds to them (peeled and copied loops) is 200 kB of code and no speed.
  set_source_files_properties(${KERNEL_DIRECTORY}/vector_packed.c ${KERNEL_DIRECTORY}/vector_int8.c PROPERTIES COMPILE_OPTIONS -O2)
endif()
foreach(set ${VECTOR_SETS})
  add_library(attend_${set} OBJECT ${VECTOR_SOURCES_${set}})
  target_compile_options(attend_${set} PRIVATE ${VECTOR_LEVEL} ${VECTOR_FLAGS_${set}})
  if(set STREQUAL "amx")
    target_compile_definitions(attend_${set} PRIVATE ATTEND_VECTOR_HEADER="kernel/vec_avx512bf16.h")
  else()
    target_compile_definitions(attend_${set} PRIVATE ATTEND_VECTOR_HEADER="kernel/vec_${set}.h")
  endif()
  target_include_directories(attend_${set} PRIVATE ${KERNEL_DIRECTORY}/../../include ${KERNEL_DIRECTORY}/..)
  list(APPEND VECTOR_OBJECTS $<TARGET_OBJECTS:attend_${set}>)
endforeach()
