# furlong_library(NAME SOURCES file... DEPENDS target...): the static library of one folder, Furlong::NAME.
# Headers are included relative to the root: "models/layout.hpp".
find_program(FURLONG_CCACHE ccache)
if(FURLONG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${FURLONG_CCACHE}")
endif()

function(furlong_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wpedantic)
  if(FURLONG_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(furlong_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(furlong_${name} STATIC ${arg_SOURCES})
  add_library(Furlong::${name} ALIAS furlong_${name})
  set_target_properties(furlong_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(furlong_${name} PUBLIC cxx_std_20)
  target_include_directories(furlong_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                                                    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/furlong>")
  target_link_libraries(furlong_${name} PUBLIC ${arg_DEPENDS})
  furlong_warnings(furlong_${name})
endfunction()

# furlong_test(NAME SOURCES file... DEPENDS target... [LABELS label...]): one Boost.Test executable under CTest.
function(furlong_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_DEPENDS} furlong_boost_test)
  furlong_warnings(test_${name})
  add_test(NAME ${name} COMMAND test_${name} --log_level=test_suite)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                                          WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endfunction()
