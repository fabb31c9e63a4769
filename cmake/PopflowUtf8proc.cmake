# popflow_utf8proc: utf8proc as our targets link it. As with HDF5 (PopflowHdf5.cmake), a target with the
# property POPFLOW_STATIC_HDF5 links the static library if there is one: a shared one costs a tenth of a
# millisecond at every start.

cmake_path(REPLACE_EXTENSION Utf8proc_LIBRARY ".a" OUTPUT_VARIABLE archive)
add_library(popflow_utf8proc INTERFACE)
if(POPFLOW_HAVE_STATIC_HDF5 AND EXISTS "${archive}")
  target_include_directories(popflow_utf8proc SYSTEM INTERFACE "${Utf8proc_INCLUDE_DIR}")
  target_link_libraries(popflow_utf8proc INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:POPFLOW_STATIC_HDF5>>,${archive},${Utf8proc_LIBRARY}>")
else()
  target_link_libraries(popflow_utf8proc INTERFACE Utf8proc::Utf8proc)
endif()
