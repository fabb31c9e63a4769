# Configures the project with MPI's compiler wrapper but without MPI's headers, as on a Debian with
# openmpi-bin and without libopenmpi-dev. The build continues without MPI and says so, unless MPI is
# required.

set(wrapper "${WORK_DIR}/bin/mpicc")
file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${wrapper}" [[#!/bin/sh
case "$*" in
*showme:compile*) echo "-I/nowhere/openmpi/include" ;;
*showme:link*) echo "-L/nowhere/openmpi/lib -lmpi" ;;
*showme:incdirs*) echo "/nowhere/openmpi/include" ;;
*showme:libdirs*) echo "/nowhere/openmpi/lib" ;;
*showme:version*) echo "mpicc: Open MPI 4.1.4 (Language: C)" ;;
*) echo "fatal error: mpi.h: No such file or directory" >&2; exit 1 ;;
esac
]])
file(CHMOD "${wrapper}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

# Configures with POPFLOW_MPI=`wanted`; checks whether this succeeds, and that the output contains
# `sentence`.
function(expect wanted succeeds sentence)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/${wanted}" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DMPI_C_COMPILER=${wrapper}" "-DPOPFLOW_MPI=${wanted}"
      -DPOPFLOW_TESTS=OFF
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${sentence}" found)
  if((failed AND succeeds) OR (NOT failed AND NOT succeeds) OR found EQUAL -1)
    message(FATAL_ERROR "With POPFLOW_MPI=${wanted}, configuring ended with '${failed}' and said:\n${said}")
  endif()
endfunction()

expect(AUTO TRUE "Sweeps run without MPI: ${wrapper} compiles nothing that includes mpi.h")
expect(ON FALSE "POPFLOW_MPI is ON, but ${wrapper} compiles nothing that includes mpi.h")
