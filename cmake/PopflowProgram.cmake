# Writes the file NAME.folders beside a program: the folders where the program finds experiments and the Python
# package while it is not installed.
function(popflow_name_folders target)
  get_property(folders GLOBAL PROPERTY POPFLOW_FOLDERS)
  file(GENERATE OUTPUT "$<TARGET_FILE:${target}>.folders" CONTENT "${folders}")
endfunction()

# popflow_add_program(NAME SOURCE...)
#
# Adds a program NAME with the user's own systems; its main() calls popflow::run_program(). Compiled
# with popflow's options, so that a run gives the same bits with and without fused multiply-adds.
function(popflow_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE popflow::popflow)
  popflow_name_folders(${name})
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    target_compile_options(${name} PRIVATE -O2)
  endif()
endfunction()
