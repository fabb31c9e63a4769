# popflow_hdf5: HDF5 and its high-level library as our targets link them.
#
# Debian's shared HDF5 supports files on the web and loads forty libraries for it, which dominates the
# program's start-up time. A target with the property POPFLOW_STATIC_HDF5 links the static HDF5 if it
# is available without those libraries. Only programs have the property: users of the library popflow
# may link their own HDF5.

set(POPFLOW_STATIC_HDF5 "AUTO" CACHE STRING
    "Link HDF5 statically into the program: ON, OFF, or AUTO (if a static HDF5 is found)")
set_property(CACHE POPFLOW_STATIC_HDF5 PROPERTY STRINGS AUTO ON OFF)

add_library(popflow_hdf5_shared INTERFACE)
target_link_libraries(popflow_hdf5_shared INTERFACE hdf5::hdf5_hl hdf5::hdf5)

set(POPFLOW_HAVE_STATIC_HDF5 OFF)
if(POPFLOW_STATIC_HDF5 AND NOT BUILD_SHARED_LIBS)  # else the library links HDF5, not the program
  set(archives)
  foreach(library IN ITEMS "${HDF5_C_LIBRARY_hdf5_hl}" "${HDF5_C_LIBRARY_hdf5}")
    cmake_path(REPLACE_EXTENSION library ".a" OUTPUT_VARIABLE archive)
    list(APPEND archives "${archive}")
  endforeach()
  include(CMakePushCheckState)
  include(CheckCXXSourceCompiles)
  # Compression libraries are static too if available: each shared library costs a tenth of a
  # millisecond at every start. libcurl and libcrypto are for files on the web only.
  set(shared_compression ${HDF5_C_LIBRARY_sz} ${HDF5_C_LIBRARY_z})
  list(TRANSFORM shared_compression REPLACE "\\.so$" ".a" OUTPUT_VARIABLE static_compression)
  find_library(POPFLOW_AEC_ARCHIVE libaec.a DOC "Static libaec, which a static libsz needs")
  mark_as_advanced(POPFLOW_AEC_ARCHIVE)
  if(POPFLOW_AEC_ARCHIVE)
    list(APPEND static_compression "${POPFLOW_AEC_ARCHIVE}")
  endif()
  foreach(kind IN ITEMS static shared)
    set(compression ${${kind}_compression})
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_INCLUDES ${HDF5_C_INCLUDE_DIRS})
    set(CMAKE_REQUIRED_LIBRARIES ${archives} ${compression} Threads::Threads ${CMAKE_DL_LIBS} m)
    check_cxx_source_compiles("
      #include <hdf5.h>
      #include <hdf5_hl.h>
      int main() { return H5DSis_scale(H5Fopen(\"\", H5F_ACC_RDONLY, H5P_DEFAULT)); }"
      POPFLOW_STATIC_HDF5_LINKS_WITH_${kind})
    cmake_pop_check_state()
    if(POPFLOW_STATIC_HDF5_LINKS_WITH_${kind})
      set(POPFLOW_HAVE_STATIC_HDF5 ON)
      break()
    endif()
  endforeach()
  if(NOT POPFLOW_HAVE_STATIC_HDF5 AND NOT POPFLOW_STATIC_HDF5 STREQUAL "AUTO")
    message(FATAL_ERROR "POPFLOW_STATIC_HDF5 is ${POPFLOW_STATIC_HDF5}, but nothing links with "
                        "${archives}; AUTO or OFF uses the shared HDF5")
  endif()
endif()

if(POPFLOW_HAVE_STATIC_HDF5)
  message(STATUS "The program contains HDF5 (${archives})")
  add_library(popflow_hdf5_static INTERFACE)
  target_include_directories(popflow_hdf5_static SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
  target_link_libraries(popflow_hdf5_static INTERFACE
    ${archives} ${compression} Threads::Threads ${CMAKE_DL_LIBS} m)
else()
  add_library(popflow_hdf5_static ALIAS popflow_hdf5_shared)
endif()

add_library(popflow_hdf5 INTERFACE)
target_link_libraries(popflow_hdf5 INTERFACE
  "$<IF:$<BOOL:$<TARGET_PROPERTY:POPFLOW_STATIC_HDF5>>,popflow_hdf5_static,popflow_hdf5_shared>")
