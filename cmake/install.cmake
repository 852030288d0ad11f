# Installed: public headers, both libraries, the program, pkg-config files, the CMake package.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ingot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Two export sets, so that a user of libingot alone needs none of the engine's libraries.
install(TARGETS ingot EXPORT ingotTargets)
install(EXPORT ingotTargets NAMESPACE ingot:: DESTINATION ${package_dir})
if(INGOT_ENGINE)
  install(TARGETS ingot-engine EXPORT ingot-engineTargets)
  install(EXPORT ingot-engineTargets NAMESPACE ingot:: DESTINATION ${package_dir})
endif()
if(TARGET ingot-cli)
  install(TARGETS ingot-cli)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ingotConfig.cmake.in ${PROJECT_BINARY_DIR}/ingotConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ingotConfig.cmake ${PROJECT_BINARY_DIR}/ingotConfigVersion.cmake
  DESTINATION ${package_dir})

# Whoever links a static library links what it uses as well; a shared one keeps that to itself.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
if(BUILD_SHARED_LIBS)
  set(pc_system_libs "")
  set(pc_engine_requires "Requires: ingot\nRequires.private: libpcre2-8 libutf8proc")
else()
  set(pc_system_libs " -pthread -lm")
  set(pc_engine_requires "Requires: ingot libpcre2-8 libutf8proc")
endif()
set(pc_libraries ingot)
if(INGOT_ENGINE)
  list(APPEND pc_libraries ingot-engine)
endif()
foreach(lib ${pc_libraries})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${lib}.pc.in ${PROJECT_BINARY_DIR}/${lib}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${lib}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
