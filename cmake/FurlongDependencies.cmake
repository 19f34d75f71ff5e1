# All third-party packages, from the Debian archive. Headers are SYSTEM. Included by this build and by
# FurlongConfig.cmake, because static libraries pass on their dependencies.
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
# RocksDB has a module of this name without the target.
furlong_find(zstd NO_MODULE)
furlong_find(spdlog)
furlong_find(Boost 1.74)
furlong_find(CLI11)
furlong_find(nlohmann_json)
find_path(FURLONG_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

find_path(FURLONG_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
if(NOT TARGET furlong_expected)
  add_library(furlong_expected INTERFACE IMPORTED)
  target_include_directories(furlong_expected SYSTEM INTERFACE "${FURLONG_EXPECTED_INCLUDE}")
endif()

# Its CMake package would also require the libraries of its server and client, which are not used.
find_path(FURLONG_PROMETHEUS_INCLUDE prometheus/text_serializer.h REQUIRED)
find_library(FURLONG_PROMETHEUS_CORE prometheus-cpp-core REQUIRED)
if(NOT TARGET furlong_prometheus)
  add_library(furlong_prometheus INTERFACE IMPORTED)
  target_include_directories(furlong_prometheus SYSTEM INTERFACE "${FURLONG_PROMETHEUS_INCLUDE}")
  target_link_libraries(furlong_prometheus INTERFACE "${FURLONG_PROMETHEUS_CORE}")
endif()

# CAF 0.17 has no CMake package.
find_path(FURLONG_CAF_INCLUDE caf/actor_system.hpp REQUIRED)
find_library(FURLONG_CAF_CORE caf_core REQUIRED)
find_library(FURLONG_CAF_IO caf_io REQUIRED)
find_library(FURLONG_CAF_OPENSSL caf_openssl REQUIRED)
if(NOT TARGET furlong_caf)
  add_library(furlong_caf INTERFACE IMPORTED)
  target_include_directories(furlong_caf SYSTEM INTERFACE "${FURLONG_CAF_INCLUDE}")
  target_link_libraries(furlong_caf INTERFACE "${FURLONG_CAF_CORE}" Threads::Threads)
  # It dereferences a null shared_ptr to an empty tuple (see ubsan.supp), which the library's assertions abort.
  target_compile_options(furlong_caf INTERFACE -U_GLIBCXX_ASSERTIONS)
  add_library(furlong_caf_net INTERFACE IMPORTED)
  target_link_libraries(furlong_caf_net INTERFACE furlong_caf "${FURLONG_CAF_OPENSSL}" "${FURLONG_CAF_IO}" OpenSSL::SSL)
endif()
