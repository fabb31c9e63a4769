# Run as a script (see PopflowVersion.cmake). The header is rewritten only when it changes.

set(SOURCE_REVISION "unknown")
find_program(GIT_PROGRAM git)
# Only popflow's own repository counts: an unpacked archive may lie inside another repository.
if(GIT_PROGRAM AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND "${GIT_PROGRAM}" --no-optional-locks describe --always --abbrev=40 --exclude=* --dirty
    WORKING_DIRECTORY "${SOURCE_DIR}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE revision ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(SOURCE_REVISION "${revision}")
  endif()
endif()

configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
