# The Debian package: `cpack -G DEB` in a build folder. The command, scenarios, pages and units; no headers or
# libraries. EXCLUDE_FROM_ALL: not by `cmake --install`. Units name /usr/bin/furlong, and systemd reads the definition
# of their user only in /usr, where the package is always installed.
set(units "${PROJECT_SOURCE_DIR}/packaging")
install(FILES "${units}/furlong-serve@.service" "${units}/furlong-aggregate@.service" "${units}/furlong-join@.service"
        DESTINATION lib/systemd/system COMPONENT runtime EXCLUDE_FROM_ALL)
install(FILES "${units}/furlong.sysusers" RENAME furlong.conf DESTINATION lib/sysusers.d COMPONENT runtime
        EXCLUDE_FROM_ALL)
install(FILES "${units}/serve-NAME.conf.example" "${units}/aggregate-NAME.conf.example"
              "${units}/join-NAME.conf.example"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime EXCLUDE_FROM_ALL)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/split_ratings.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/furlong/tools"
        COMPONENT runtime)
# Same layout as in the sources, because the pages link to one another.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
              "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/bench/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}/bench" COMPONENT runtime)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME furlong)
set(CPACK_PACKAGE_VENDOR "Furlong")
set(CPACK_PACKAGE_CONTACT "the Furlong developers <furlong@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Federation of partially local models")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME furlong)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${units}/postinst;${units}/prerm;${units}/postrm")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
