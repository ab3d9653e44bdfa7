# What `make install` installs beside the command (cli/CMakeLists.txt): component `development` is the library with its headers, pkg-config
# files and CMake package; `command` is all else but the licence, which Debian packages have another place for.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/attend DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(TARGETS attend attend_double EXPORT attend DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# pkg-config. The library is static: whoever links it links what it stands on. The prefix is known when it is installed.
list(TRANSFORM ATTEND_MODULES REPLACE "^.*=" "" OUTPUT_VARIABLE PC_REQUIRES)
list(JOIN PC_REQUIRES " " PC_REQUIRES)
foreach(name attend attend_double)
  get_target_property(DEFINITIONS ${name} INTERFACE_COMPILE_DEFINITIONS)
  set(PC_NAME ${name})
  set(PC_FLAGS "")
  if(DEFINITIONS)
    set(PC_FLAGS "-D${DEFINITIONS}")
  endif()
  set(PC_PREFIX "@CMAKE_INSTALL_PREFIX@")
  configure_file(cmake/attend.pc.in ${name}.pc.in @ONLY)
  install(CODE "
    configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" @ONLY)
    file(INSTALL \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")"
          COMPONENT development)
endforeach()

# find_package(attend): the target attend::attend, and attend::attend_double.
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
configure_package_config_file(cmake/attendConfig.cmake.in attendConfig.cmake INSTALL_DESTINATION ${PACKAGE_FOLDER}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(attendConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/modules.cmake ${CMAKE_CURRENT_BINARY_DIR}/attendConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/attendConfigVersion.cmake
        DESTINATION ${PACKAGE_FOLDER} COMPONENT development)
install(EXPORT attend NAMESPACE attend:: FILE attendTargets.cmake DESTINATION ${PACKAGE_FOLDER} COMPONENT development)

# Documents, with the names that help and man pages call them by, and examples.
file(GLOB DOCUMENTS CONFIGURE_DEPENDS docs/*.md)
file(GLOB EXAMPLE_SOURCES CONFIGURE_DEPENDS examples/*.c)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(FILES ${DOCUMENTS} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT command)
install(FILES ${EXAMPLE_SOURCES} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
