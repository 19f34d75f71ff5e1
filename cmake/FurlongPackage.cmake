# The Debian packages: `cpack -G DEB` in a build folder. furlong: the command, scenarios, pages and units; no headers or
# libraries. python3-furlong: the Python package and its examples. EXCLUDE_FROM_ALL: not by `cmake --install`. Units
# name /usr/bin/furlong, and systemd reads the definition of their user only in /usr, where the package is always
# installed.
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
foreach(folder bench tests/campaigns)
  install(FILES "${PROJECT_SOURCE_DIR}/${folder}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}"
          COMPONENT runtime)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
# Reports and the dashboard contain Vega.
file(READ "${PROJECT_SOURCE_DIR}/LICENSE" license)
file(READ "${PROJECT_SOURCE_DIR}/tools/page/vega.js" notice)
string(REGEX REPLACE "^.*/\\*! (.*) \\*/.*$" "\\1" notice "${notice}")
file(WRITE "${PROJECT_BINARY_DIR}/copyright" "${license}\n${notice}\n")
install(FILES "${PROJECT_BINARY_DIR}/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)

# Where Debian's Python looks, so that the command finds it as well.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/furlong" DESTINATION lib/python3/dist-packages COMPONENT python
        EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/examples" DESTINATION "${CMAKE_INSTALL_DATADIR}/furlong/python"
        COMPONENT python EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN "__pycache__" EXCLUDE
        PATTERN "runs" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/python3-furlong" COMPONENT python EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME furlong)
set(CPACK_PACKAGE_VENDOR "Furlong")
set(CPACK_PACKAGE_CONTACT "the Furlong developers <furlong@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Federation of partially local models")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME furlong)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${units}/postinst;${units}/prerm;${units}/postrm")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-furlong)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy (>= 1:1.20)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS
    "furlong, python3-torch (>= 1.13), python3-pandas (>= 1.3), python3-matplotlib (>= 3.5)")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "PyTorch and numpy models for Furlong")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${units}/python/postinst;${units}/python/prerm")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
