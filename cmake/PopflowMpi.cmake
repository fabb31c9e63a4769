# Gives src/sweep/ranks.cpp MPI, if that was found. A shared library is loaded by the processes that
# are ranks, by the name that programs linked with it would have; others need not even have it.
# POPFLOW_WITH_MPI: who links the library popflow must link MPI.

set(POPFLOW_WITH_MPI OFF)
if(POPFLOW_MPI AND MPI_C_FOUND)
  message(STATUS "Sweeps run over MPI (${MPI_C_LIBRARIES})")
  set(definitions POPFLOW_HAVE_MPI)
  set(soname)
  list(LENGTH MPI_C_LIBRARIES count)
  if(count EQUAL 1 AND CMAKE_OBJDUMP)
    file(REAL_PATH "${MPI_C_LIBRARIES}" library)
    execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${library}" OUTPUT_VARIABLE headers ERROR_QUIET)
    string(REGEX MATCH "SONAME +([^ \n]+)" soname "${headers}")
    set(soname "${CMAKE_MATCH_1}")
  endif()
  if(soname)
    cmake_path(GET library PARENT_PATH folder)
    list(APPEND definitions
      "POPFLOW_MPI_LIBRARY=\"${soname}\"" "POPFLOW_MPI_FOLDER=\"${folder}\"")
    target_include_directories(popflow SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
    target_link_libraries(popflow PRIVATE ${CMAKE_DL_LIBS})
  else()
    set(POPFLOW_WITH_MPI ON)
    target_link_libraries(popflow PRIVATE MPI::MPI_C)
  endif()
  set_source_files_properties(src/sweep/ranks.cpp PROPERTIES COMPILE_DEFINITIONS "${definitions}")
endif()
