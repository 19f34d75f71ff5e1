find_program(FURLONG_CCACHE ccache)
if(FURLONG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these, ccache compiles whatever includes a precompiled header (its manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  "${FURLONG_CCACHE}")
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>")
endif()

function(furlong_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wpedantic)
  # GCC 12 sees overlapping copies in text + std::string where there are none (its bug 105329).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  if(FURLONG_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# GCC 12 warns of the standard library's own strings when their headers come precompiled.
function(furlong_precompiled_warnings target)
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
endfunction()

# furlong_unity(TARGET [file...]): compiles the target's sources a few at a time, all but those files, so that what they
# include is read once.
function(furlong_unity target)
  if(FURLONG_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    # Names of one source's anonymous namespace are global to the next source, and GCC takes sources that are included
    # for headers, whose classes must not use what is in an anonymous namespace.
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# What most sources include.
set(FURLONG_COMMON_HEADERS <algorithm> <filesystem> <functional> <map> <memory> <optional> <span> <string>
                           <tl/expected.hpp> <vector>)

# furlong_library(NAME SOURCES file... DEPENDS target... [HEADERS_OF target] [HEADERS header...] [COLD] [UNITY]
# [APART file...]): the static library of one folder, Furlong::NAME. Headers are included relative to the root:
# "models/layout.hpp". Those under detail/ are for their own folder. Which are installed is in FurlongHeaders.cmake.
# HEADERS_OF: whose precompiled headers it uses, those of furlong_base unless given; SELF: its own, with HEADERS.
# COLD: no inner loops; -O3 would take as long again to compile and save nothing.
# UNITY: its sources are compiled a few at a time, all but APART, so that what they include is read once.
function(furlong_library name)
  cmake_parse_arguments(arg "COLD;UNITY" "HEADERS_OF" "SOURCES;APART;DEPENDS;HEADERS" ${ARGN})
  add_library(furlong_${name} STATIC ${arg_SOURCES} ${arg_APART})
  add_library(Furlong::${name} ALIAS furlong_${name})
  set_target_properties(furlong_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(furlong_${name} PUBLIC cxx_std_20)
  target_include_directories(furlong_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                                                    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/furlong>")
  target_link_libraries(furlong_${name} PUBLIC ${arg_DEPENDS})
  furlong_warnings(furlong_${name})
  furlong_precompiled_warnings(furlong_${name})
  if(arg_COLD)
    target_compile_options(furlong_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    # GCC 13 and later turn these on from -O2 on, and read a precompiled header only where they are as in the header.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
       AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_compile_options(furlong_${name} PRIVATE
                             $<$<CONFIG:Release>:-munroll-only-small-loops> $<$<CONFIG:Release>:-mvzeroupper>)
    endif()
    if(arg_HEADERS_OF STREQUAL "SELF")  # others share headers that are precompiled with -O1
      target_compile_options(furlong_${name} PRIVATE $<$<CONFIG:Sanitize>:-O0>)
    endif()
  endif()
  if(arg_UNITY)
    furlong_unity(furlong_${name} ${arg_APART})
    # Twice CMake's default: what headers define, such as CLI11 and JSON, is compiled once for each batch.
    set_target_properties(furlong_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
  endif()
  if(NOT arg_HEADERS_OF)
    set(arg_HEADERS_OF furlong_base)
  endif()
  if(arg_HEADERS_OF STREQUAL "SELF")
    target_precompile_headers(furlong_${name} PRIVATE ${FURLONG_COMMON_HEADERS} ${arg_HEADERS})
  else()
    target_precompile_headers(furlong_${name} REUSE_FROM ${arg_HEADERS_OF})
  endif()

  install(TARGETS furlong_${name} EXPORT FurlongTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# Libraries are optimized, tests are not: optimizing them would cost as much compile time as they run.
function(furlong_test_options target)
  furlong_warnings(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Sanitize>:-O0>)
  # As for users of CAF (FurlongDependencies.cmake): all tests share one precompiled header, and must have its macros.
  target_compile_options(${target} PRIVATE -U_GLIBCXX_ASSERTIONS)
  furlong_precompiled_warnings(${target})
endfunction()

# ./dev gives CTest two slots per processor. A test that computes takes two, a test that mostly waits, as those of
# processes do, takes one. Three: it uses more than one processor, and only a waiting test runs in parallel. COST orders
# tests: long ones start first, so that none runs alone at the end.
set(furlong_computes 2)
set(furlong_computes_in_parallel 3)

# furlong_test(NAME SOURCES file... DEPENDS target... [LABELS label...] [TIMEOUT seconds] [OWN_HEADERS]): one Boost.Test
# executable under CTest, with the shared precompiled headers of tests unless OWN_HEADERS. TIMEOUT (600) ends a hanging
# test: it must be far above the time on slow processors or disks.
function(furlong_test name)
  cmake_parse_arguments(arg "OWN_HEADERS" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_DEPENDS} furlong_boost_test)
  furlong_test_options(test_${name})
  # Helpers of a test are in its suite, which is a namespace; those of other sources may have the same names.
  set(apart ${arg_SOURCES})
  list(FILTER apart EXCLUDE REGEX "_test[.]cpp$")
  furlong_unity(test_${name} ${apart})
  if(NOT arg_OWN_HEADERS)
    target_precompile_headers(test_${name} REUSE_FROM furlong_test_headers)
  endif()
  add_test(NAME ${name} COMMAND test_${name} --log_level=test_suite)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Sanitize" OR CMAKE_CROSSCOMPILING)  # the others are emulated
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} PROCESSORS ${furlong_computes}
                                          WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()

# furlong_fuzz(NAME SOURCES file... DEPENDS target... COVERS target... [CORPUS folder]): a libFuzzer target under CTest,
# label "fuzz", only if FURLONG_FUZZ is on (preset asan-ubsan, which builds most of its dependencies for the tests).
# libFuzzer searches for new paths in its own sources and those of the targets that it COVERS. It runs
# FURLONG_FUZZ_SECONDS from the corpus, a read-only folder beside its sources; new inputs stay in the build folder.
set(FURLONG_FUZZ_SECONDS 20 CACHE STRING "How long each fuzz target runs under CTest, in seconds")
function(furlong_fuzz name)
  if(NOT FURLONG_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;DEPENDS;COVERS" ${ARGN})
  add_executable(fuzz_${name} ${arg_SOURCES})
  foreach(covered fuzz_${name} ${arg_COVERS})
    target_compile_options(${covered} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
  target_link_libraries(fuzz_${name} PRIVATE ${arg_DEPENDS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  furlong_warnings(fuzz_${name})
  set(found "${CMAKE_CURRENT_BINARY_DIR}/found_${name}")
  file(MAKE_DIRECTORY "${found}")
  if(arg_CORPUS)
    get_filename_component(corpus "${arg_CORPUS}" ABSOLUTE)
  endif()
  add_test(NAME fuzz_${name} COMMAND fuzz_${name} -max_total_time=${FURLONG_FUZZ_SECONDS} -timeout=5 -print_final_stats=1
                                     "-artifact_prefix=${found}/" "${found}" ${corpus})
  math(EXPR limit "${FURLONG_FUZZ_SECONDS} + 120")
  set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT ${limit})
endfunction()
