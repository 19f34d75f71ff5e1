# Installs FURLONG_BUILD under WORK, builds the projects in SOURCE against what was installed, trains the model of the
# one, and gives the parts of the other to every command.

# run(WHAT command...): stops with all output when the command fails.
function(run what)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE code OUTPUT_VARIABLE said
                  ERROR_VARIABLE said)
  if(NOT code EQUAL 0)
    message("${said}")
    message(FATAL_ERROR "${what} failed (${code})")
  endif()
  message(STATUS "${what}: done")
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(prefix "${WORK}/prefix")
run("install" "${CMAKE_COMMAND}" --install "${FURLONG_BUILD}" --prefix "${prefix}")
# systemd would start what a unit names, wherever that came from, and reads users from /usr alone.
file(GLOB_RECURSE units "${prefix}/*.service")
foreach(unit IN LISTS units)
  file(STRINGS "${unit}" commands REGEX "^Exec[A-Za-z]*=")
  foreach(command IN LISTS commands)
    string(REGEX REPLACE "^Exec[A-Za-z]*=[-@:+!]*([^ ]+).*" "\\1" program "${command}")
    cmake_path(IS_PREFIX prefix "${program}" inside)
    if(NOT inside)
      message(FATAL_ERROR "${unit} starts ${program}, which is not below ${prefix}")
    endif()
  endforeach()
endforeach()
file(GLOB_RECURSE users "${prefix}/lib/sysusers.d/*")
if(users)
  message(FATAL_ERROR "nothing reads ${users}")
endif()

foreach(project item_bias parts)
  run("configure ${project}" "${CMAKE_COMMAND}" -S "${SOURCE}/${project}" -B "${WORK}/${project}" -G "${GENERATOR}"
      "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
      "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" "-DCMAKE_EXE_LINKER_FLAGS=${LINK_FLAGS}")
  run("build ${project}" "${CMAKE_COMMAND}" --build "${WORK}/${project}")
endforeach()
run("installed command" "${prefix}/bin/furlong" --version)
run("fednova" "${PYTHON}" "${SOURCE}/use_fednova.py" "${WORK}/parts/furlong-parts" "${SOURCE}/parts/fednova.toml")
run("parts" "${PYTHON}" "${SOURCE}/use_parts.py" "${WORK}/parts/furlong-parts")
run("run" "${WORK}/item_bias/furlong-item-bias" run "${SOURCE}/item_bias/item-bias.toml" --out "${WORK}/out")

file(READ "${WORK}/out/summary.json" summary)
string(JSON model GET "${summary}" model)
if(NOT model STREQUAL "item-bias")
  message(FATAL_ERROR "summary.json names the model ${model}")
endif()
# The noise floor is 0.5, an untrained model is at 0.94: between them lies having learned both kinds of bias.
string(JSON rmse GET "${summary}" eval seen rmse)
if(NOT rmse LESS 0.6 OR NOT rmse GREATER 0.4)
  message(FATAL_ERROR "the model did not learn: RMSE ${rmse} on the seen users' held-out ratings")
endif()
message(STATUS "RMSE ${rmse}")
