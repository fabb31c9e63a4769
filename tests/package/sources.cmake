# Configures the sources with few tools, and inside other projects.

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")

# Without Ninja, Python and MPI; without tests.
run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/plain" -G "Unix Makefiles"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" -DBUILD_TESTING=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}/plain" --target help
  OUTPUT_VARIABLE targets COMMAND_ERROR_IS_FATAL ANY)
if(NOT targets MATCHES "popflow_program" OR targets MATCHES "popflow_tests")
  message(FATAL_ERROR "BUILD_TESTING=OFF gave these targets:\n${targets}")
endif()

foreach(fetch IN ITEMS OFF ON)
  run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/package/subproject" -B "${WORK_DIR}/fetch-${fetch}"
      -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DPOPFLOW_SOURCE=${SOURCE_DIR}"
      "-DFETCH=${fetch}")
  run("${CMAKE_COMMAND}" --build "${WORK_DIR}/fetch-${fetch}" --target compiled)
endforeach()
