# What is installed, besides the command (cli/CMakeLists.txt), by component:
#   command                the command, its manual and the documents
#   library, view-library  the shared libraries libattend and libattend-view
#   development, view-development
#                          what a program is built with: headers, static libraries, pkg-config files, CMake package
#   licence                Debian packages have another file for it
#   debug                  the debug information of the command and the shared libraries, in separate files; only if it is asked for by name
# Install with --strip (as make install does) to leave debug information out of everything else.
include(CMakePackageConfigHelpers)
set(PACKAGE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
if(ATTEND_SANITIZE)
  return()
endif()

install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development PATTERN picture.h EXCLUDE)
install(FILES include/attend/picture.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attend COMPONENT view-development)

# ---- libraries, and find_package(attend): cmake/attendConfig.cmake.in ----

set_target_properties(attend_shared PROPERTIES EXPORT_NAME attend)
set_target_properties(attend_view_shared PROPERTIES EXPORT_NAME view)
set_target_properties(attend PROPERTIES EXPORT_NAME attend_static)
set_target_properties(attend_view PROPERTIES EXPORT_NAME view_static)
install(TARGETS attend_shared EXPORT attend LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS attend_view_shared EXPORT attend_view LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT view-library
        NAMELINK_COMPONENT view-development)
install(TARGETS attend attend_double EXPORT attend_static DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS attend_view EXPORT attend_view_static DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT view-development)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${PACKAGE_DIRECTORY} COMPONENT development)
install(EXPORT attend_static NAMESPACE attend:: FILE attendStaticTargets.cmake DESTINATION ${PACKAGE_DIRECTORY} COMPONENT development)
install(EXPORT attend_view NAMESPACE attend:: FILE attendViewTargets.cmake DESTINATION ${PACKAGE_DIRECTORY} COMPONENT view-development)
install(EXPORT attend_view_static NAMESPACE attend:: FILE attendViewStaticTargets.cmake DESTINATION ${PACKAGE_DIRECTORY}
        COMPONENT view-development)
configure_package_config_file(cmake/attendConfig.cmake.in attendConfig.cmake INSTALL_DESTINATION ${PACKAGE_DIRECTORY}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/modules.cmake ${CMAKE_CURRENT_BINARY_DIR}/attendConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/attendConfigVersion.cmake
        DESTINATION ${PACKAGE_DIRECTORY} COMPONENT development)

# cmake --install --strip does not strip static libraries.
foreach(library attend:development attend_double:development attend_view:view-development)
  string(REGEX MATCH "^(.*):(.*)$" library ${library})
  install(CODE "
    if(CMAKE_INSTALL_DO_STRIP)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug --enable-deterministic-archives
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${CMAKE_MATCH_1}>\" COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT ${CMAKE_MATCH_2})
endforeach()

# ---- debug information, under the names by which debuggers find it: lib/debug/.build-id/ab/cdef.debug ----

foreach(target attend_command attend_shared attend_view_shared)
  install(CODE "
    set(PROGRAM \"$<TARGET_FILE:${target}>\")
    execute_process(COMMAND \"${CMAKE_READELF}\" -n \"\${PROGRAM}\" OUTPUT_VARIABLE NOTES COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH \"Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)\" ID \"\${NOTES}\")
    set(DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/\${CMAKE_MATCH_1}\")
    set(FILE \"\${DIRECTORY}/\${CMAKE_MATCH_2}.debug\")
    file(MAKE_DIRECTORY \"\${DIRECTORY}\")
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug --compress-debug-sections \"\${PROGRAM}\" \"\${FILE}\" COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD \"\${FILE}\" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    message(STATUS \"Installing: \${FILE}\")" COMPONENT debug EXCLUDE_FROM_ALL)
endforeach()

# ---- pkg-config ----

# module_names(MODULES OUT): the modules of a list of NAME=module, separated by spaces.
function(module_names modules out)
  list(TRANSFORM modules REPLACE "^.*=" "")
  list(JOIN modules " " modules)
  set(${out} "${modules}" PARENT_SCOPE)
endfunction()

# install_pc(NAME COMPONENT): the file NAME.pc from the PC_* variables. Its prefix is that of the installation.
function(install_pc name component)
  set(PC_NAME ${name})
  set(PC_PREFIX "@CMAKE_INSTALL_PREFIX@")
  configure_file(cmake/attend.pc.in ${name}.pc.in @ONLY)
  install(CODE "
    configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" @ONLY)
    file(INSTALL \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")"
          COMPONENT ${component})
endfunction()

module_names("${ATTEND_MODULES}" MODULES)
module_names("${ATTEND_VIEW_MODULES}" VIEW_MODULES)

set(PC_DESCRIPTION "Sequence-to-sequence with attention, in C")
set(PC_REQUIRES_PRIVATE ${MODULES})
set(PC_LIBS_PRIVATE "-lpthread -lm")
install_pc(attend development)

set(PC_DESCRIPTION "Attention maps as SVG and PNG")
set(PC_REQUIRES "attend = ${PROJECT_VERSION}")
set(PC_REQUIRES_PRIVATE ${VIEW_MODULES})
set(PC_LIBS_PRIVATE "-lm")
install_pc(attend-view view-development)

# There is no shared library of the twin: what it is linked with is always needed.
set(PC_DESCRIPTION "Sequence-to-sequence with attention, in C: in double precision, to check derivatives")
set(PC_REQUIRES ${MODULES})
set(PC_REQUIRES_PRIVATE "")
set(PC_LIBS "-lpthread -lm")
set(PC_LIBS_PRIVATE "")
set(PC_FLAGS -DATTEND_DOUBLE)
install_pc(attend_double development)

# ---- documents and examples, with the names that help and man pages use for them ----

file(GLOB EXAMPLE_SOURCES CONFIGURE_DEPENDS examples/*.c)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(FILES ${EXAMPLE_SOURCES} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
