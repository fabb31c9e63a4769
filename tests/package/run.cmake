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
require_file("${prefix}/share/zsh/site-functions/_popflow")
require_file("${prefix}/share/fish/vendor_completions.d/popflow.fish")
require_file("${prefix}/share/popflow/docs/numerics.md")
file(GLOB_RECURSE caches LIST_DIRECTORIES true "${prefix}/share/popflow/python/*")
list(FILTER caches INCLUDE REGEX "/__pycache__$")
if(caches)
  message(FATAL_ERROR "The install holds Python's compiled files: ${caches}")
endif()
run("${prefix}/${BINDIR}/popflow" --version)
# The experiment is found by name in the moved tree, not in the sources.
execute_process(COMMAND "${prefix}/${BINDIR}/popflow" run --config scb-two-stages --dry-run
  OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${shown}" "counts = ${prefix}/share/popflow/counts/" found)
if(found EQUAL -1)
  message(FATAL_ERROR "An installed experiment is not found by its name:\n${shown}")
endif()

# Figures are drawn by the package of the moved tree. Echo stands for Python and shows the folders.
run("${prefix}/${BINDIR}/popflow" run markov --t-end 1 --quiet -o "${WORK_DIR}/run.h5")
function(require_package_of_the_tree program)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env POPFLOW_PYTHON=/bin/echo PYTHONPATH=
    "${program}" plot "${WORK_DIR}/run.h5" -o "${WORK_DIR}/run.png" OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
  if(NOT shown MATCHES "\n ${prefix}/share/popflow/python: ")
    message(FATAL_ERROR "${program} takes the Python package from elsewhere:\n${shown}")
  endif()
endfunction()
require_package_of_the_tree("${prefix}/${BINDIR}/popflow")
# The program holds no path of the machine that built it; debugging symbols would.
if(CONFIG STREQUAL "Release")
  cmake_path(GET EXAMPLES_DIR PARENT_PATH sources)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env LC_ALL=C
    grep --text --quiet --extended-regexp "${sources}/(build|data|dynamics|pyth|src)" "${prefix}/${BINDIR}/popflow"
    RESULT_VARIABLE lacks)
  if(NOT lacks EQUAL 1)
    message(FATAL_ERROR "The installed program names the folder of its sources, ${sources}")
  endif()
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
require_package_of_the_tree("${WORK_DIR}/own-system/product")
# Experiments are found too: this one is not for the program's system.
execute_process(COMMAND "${WORK_DIR}/own-system/product" run --config scb-two-stages ERROR_VARIABLE said)
if(NOT said MATCHES "^product: error: ${prefix}/share/popflow/experiments/scb-two-stages.cfg: ")
  message(FATAL_ERROR "A program of one's own does not find an experiment by its name:\n${said}")
endif()
build(own-class "${EXAMPLES_DIR}/own-class")
run("${PYTHON}" "${CONSUMER_DIR}/own_class.py" "${WORK_DIR}/own-class/logistic")
