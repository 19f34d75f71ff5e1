# All third-party packages, from the Debian archive. Headers come in as SYSTEM.
# Read twice: by this build, and by FurlongConfig.cmake, since static libraries pass their dependencies on.
macro(furlong_find)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "Furlong")
    find_dependency(${ARGN})
  else()
    find_package(${ARGN} REQUIRED)
  endif()
endmacro()

furlong_find(Threads)
furlong_find(Eigen3 3.4 NO_MODULE)
furlong_find(OpenSSL 3)
furlong_find(CapnProto)
furlong_find(RocksDB)
furlong_find(spdlog)
furlong_find(CLI11)
furlong_find(nlohmann_json)
find_path(FURLONG_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
find_path(FURLONG_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

# CAF 0.17 ships no CMake package.
find_path(FURLONG_CAF_INCLUDE caf/actor_system.hpp REQUIRED)
find_library(FURLONG_CAF_CORE caf_core REQUIRED)
if(NOT TARGET furlong_caf)
  add_library(furlong_caf INTERFACE IMPORTED)
  target_include_directories(furlong_caf SYSTEM INTERFACE "${FURLONG_CAF_INCLUDE}")
  target_link_libraries(furlong_caf INTERFACE "${FURLONG_CAF_CORE}" Threads::Threads)
  # It dereferences a null shared_ptr to an empty tuple (see ubsan.supp), which the library's assertions abort.
  target_compile_options(furlong_caf INTERFACE -U_GLIBCXX_ASSERTIONS)
endif()
