# Installs the build, moves the installed tree, and builds and runs projects against it: a consumer
# of the library, and the examples with their own systems.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(require_file path)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "The install lacks ${path}")
  endif()
endfunction()

set(prefix "${WORK_DIR}/moved")
file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}" --prefix "${WORK_DIR}/first")
file(RENAME "${WORK_DIR}/first" "${prefix}")

require_file("${prefix}/${MANDIR}/man1/popflow.1")
require_file("${prefix}/share/bash-completion/completions/popflow")
require_file("${prefix}/share/popflow/docs/numerics.md")
run("${prefix}/${BINDIR}/popflow" --version)
# The experiment is found by name in the moved tree, not in the sources.
execute_process(COMMAND "${prefix}/${BINDIR}/popflow" run --config scb-two-stages --dry-run
  OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${shown}" "counts = ${prefix}/share/popflow/counts/" found)
if(found EQUAL -1)
  message(FATAL_ERROR "An installed experiment is not found by its name:\n${shown}")
endif()

# Builds the project in `folder` in WORK_DIR/name.
function(build name folder)
  run("${CMAKE_COMMAND}" -S "${folder}" -B "${WORK_DIR}/${name}" -G "${GENERATOR}"
      "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
  run("${CMAKE_COMMAND}" --build "${WORK_DIR}/${name}")
endfunction()

build(consumer "${CONSUMER_DIR}")
run("${WORK_DIR}/consumer/consumer")
build(own-system "${EXAMPLES_DIR}/own-system")
run("${PYTHON}" "${CONSUMER_DIR}/own_system.py" "${WORK_DIR}/own-system/product"
    "${prefix}/${BINDIR}/popflow")
build(own-class "${EXAMPLES_DIR}/own-class")
run("${PYTHON}" "${CONSUMER_DIR}/own_class.py" "${WORK_DIR}/own-class/logistic")
