# The CUDA plug-in of libattend (device/cuda_plugin.c), where nvcc is installed: libattend_cuda.so beside the command, and installed in LIBDIR/attend;
# with tests also libattend_cuda_double.so, for the double-precision twin. It is not linked with libattend, nor libattend with CUDA. The CUDA runtime is
# linked statically; cuBLAS is a shared library.
#   ATTEND_CUDA                ON: nvcc must be there; OFF: no plug-in; AUTO: if nvcc is there
#   ATTEND_CUDA_ARCHITECTURES  what the plug-in is compiled for, as CMake's CUDA_ARCHITECTURES. Each takes time, so that builds with tests compile
#                              for one only, and PTX, which the driver compiles for later GPUs
set(ATTEND_CUDA AUTO CACHE STRING "build the CUDA plug-in: ON, OFF, or AUTO: if nvcc is installed")
set(ATTEND_CUDA_ARCHITECTURES "" CACHE STRING "what the CUDA plug-in is compiled for (default: all that attend supports; with tests: one)")
if(NOT ATTEND_CUDA OR ATTEND_PYTHON_ONLY OR CMAKE_CROSSCOMPILING OR ATTEND_SANITIZE OR ATTEND_THREAD_SANITIZE OR ATTEND_FUZZ)
  return()
endif()
if(ATTEND_CUDA STREQUAL "AUTO" AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU") # nvcc compiles the same with any of them
  return()
endif()
find_program(ATTEND_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
if(NOT ATTEND_NVCC AND ATTEND_CUDA STREQUAL "AUTO")
  message(STATUS "nvcc is not installed: the plug-in libattend_cuda.so is not built")
  return()
elseif(NOT ATTEND_NVCC)
  message(FATAL_ERROR "The CUDA plug-in needs nvcc, which is not installed. Install the CUDA toolkit (package nvidia-cuda-toolkit, or the one of NVIDIA), "
                      "put nvcc on PATH or set CUDA_HOME, and repeat; or build without it: -DATTEND_CUDA=OFF")
endif()
set(CMAKE_CUDA_COMPILER ${ATTEND_NVCC})
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()
enable_language(CUDA)

# Those of this list that this nvcc has: CUDA 13 dropped 70. The last as PTX too.
if(ATTEND_CUDA_ARCHITECTURES)
  set(CUDA_ARCHITECTURES ${ATTEND_CUDA_ARCHITECTURES})
elseif(ATTEND_TESTS)
  set(CUDA_ARCHITECTURES 80)
else()
  execute_process(COMMAND ${ATTEND_NVCC} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  set(CUDA_ARCHITECTURES "")
  foreach(architecture 70 75 80 86 89 90)
    if(known MATCHES "sm_${architecture}\n")
      list(APPEND CUDA_ARCHITECTURES ${architecture}-real)
      set(newest ${architecture})
    endif()
  endforeach()
  list(APPEND CUDA_ARCHITECTURES ${newest}-virtual)
endif()
list(JOIN CUDA_ARCHITECTURES " " shown)
message(STATUS "CUDA: ${ATTEND_NVCC} ${CMAKE_CUDA_COMPILER_VERSION}, for ${shown}")

file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
get_filename_component(toolkit ${ATTEND_NVCC} DIRECTORY)
find_library(ATTEND_CUBLAS cublas HINTS ${toolkit}/../lib64 PATHS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} REQUIRED)
get_filename_component(CUDA_LIBRARIES ${ATTEND_CUBLAS} DIRECTORY)
get_filename_component(CUDA_LIBRARIES ${CUDA_LIBRARIES} ABSOLUTE)
set(CUDA_RPATH ${CUDA_LIBRARIES}) # NVIDIA installs outside the directories of the system
if(CUDA_LIBRARIES IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
  set(CUDA_RPATH "")
endif()

# attend_cuda_plugin(NAME FILE): lib${FILE}.so
function(attend_cuda_plugin name file)
  add_library(${name} MODULE ${CUDA_SOURCES} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/table.c)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  if(ATTEND_WERROR)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
  # beside cuBLAS, libcublas.so needs libcublasLt.so
  target_link_libraries(${name} PRIVATE ${ATTEND_CUBLAS})
  target_link_options(${name} PRIVATE LINKER:--no-undefined LINKER:-rpath-link,${CUDA_LIBRARIES})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                                           CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static
                                           CUDA_ARCHITECTURES "${CUDA_ARCHITECTURES}" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                                           BUILD_RPATH "${CUDA_RPATH}" INSTALL_RPATH "${CUDA_RPATH}")
endfunction()

attend_cuda_plugin(attend_cuda attend_cuda)
install(TARGETS attend_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attend COMPONENT cuda)
if(ATTEND_TESTS)
  attend_cuda_plugin(attend_cuda_double attend_cuda_double)
  target_compile_definitions(attend_cuda_double PRIVATE ATTEND_DOUBLE)
endif()
