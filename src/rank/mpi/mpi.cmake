# The MPI plug-in of libattend (rank/join.c), where MPI is installed: attend-mpi.so beside the command, and installed in LIBDIR/attend. It is not linked
# with libattend, nor libattend with MPI.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(STATUS "MPI is not installed (libopenmpi-dev): the plug-in attend-mpi is not built")
  return()
endif()
add_library(attend_mpi MODULE ${CMAKE_CURRENT_LIST_DIR}/mpi_transport.c)
target_include_directories(attend_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(attend_mpi PRIVATE MPI::MPI_C Threads::Threads)
set_target_properties(attend_mpi PROPERTIES PREFIX "" OUTPUT_NAME attend-mpi C_VISIBILITY_PRESET hidden
                                            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} INSTALL_RPATH "")
if(NOT ATTEND_SANITIZE)
  install(TARGETS attend_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attend COMPONENT mpi)
endif()
