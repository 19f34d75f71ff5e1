# Installs the command, the scenario files and the CMake package (furlong_library installs libraries and headers).
# Include it after all targets are defined.
include(CMakePackageConfigHelpers)

set(furlong_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Furlong")
install(EXPORT FurlongTargets NAMESPACE Furlong:: DESTINATION "${furlong_package_dir}")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/FurlongConfig.cmake.in" "${PROJECT_BINARY_DIR}/FurlongConfig.cmake"
  INSTALL_DESTINATION "${furlong_package_dir}" PATH_VARS CMAKE_INSTALL_DATADIR)
# Before 1.0 a minor version may break dependent projects.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/FurlongConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/FurlongConfig.cmake" "${PROJECT_BINARY_DIR}/FurlongConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/FurlongDependencies.cmake" DESTINATION "${furlong_package_dir}")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/scenarios/" DESTINATION "${CMAKE_INSTALL_DATADIR}/furlong/scenarios" COMPONENT runtime
        FILES_MATCHING PATTERN "*.toml" PATTERN "traces/*.csv" PATTERN "traces/*.jsonl" PATTERN "schema" EXCLUDE
        PATTERN "data" EXCLUDE PATTERN "python" EXCLUDE PATTERN "parameters" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET furlong)
  install(TARGETS furlong RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()
