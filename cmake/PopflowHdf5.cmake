# popflow_hdf5: HDF5 and its high-level library, as what is built here links them.
#
# Debian's shared HDF5 reads files on the web too, and loads forty libraries for it, which takes
# longer than anything else that the program does before it starts. A target with the property
# POPFLOW_STATIC_HDF5 has the static HDF5 instead, where it is there and needs none of them. Only
# whole programs do: who links the library popflow may have an HDF5 of their own.

set(POPFLOW_STATIC_HDF5 "AUTO" CACHE STRING
    "The program contains HDF5: ON, OFF, or AUTO: if there is a static one")
set_property(CACHE POPFLOW_STATIC_HDF5 PROPERTY STRINGS AUTO ON OFF)

add_library(popflow_hdf5_shared INTERFACE)
target_link_libraries(popflow_hdf5_shared INTERFACE hdf5::hdf5_hl hdf5::hdf5)

set(POPFLOW_HAVE_STATIC_HDF5 OFF)
if(POPFLOW_STATIC_HDF5 AND NOT BUILD_SHARED_LIBS)  # else HDF5 is the library's, not the program's
  set(archives)
  foreach(library IN ITEMS "${HDF5_C_LIBRARY_hdf5_hl}" "${HDF5_C_LIBRARY_hdf5}")
    cmake_path(REPLACE_EXTENSION library ".a" OUTPUT_VARIABLE archive)
    list(APPEND archives "${archive}")
  endforeach()
  include(CMakePushCheckState)
  include(CheckCXXSourceCompiles)
  # What it compresses with, static too where it is there: each shared library takes a tenth of a
  # millisecond whenever the program starts. libcurl and libcrypto are only for files on the web.
  set(shared_compression ${HDF5_C_LIBRARY_sz} ${HDF5_C_LIBRARY_z})
  list(TRANSFORM shared_compression REPLACE "\\.so$" ".a" OUTPUT_VARIABLE static_compression)
  find_library(POPFLOW_AEC_ARCHIVE libaec.a DOC "What a static libsz stands on")
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
                        "${archives}: AUTO or OFF takes the shared HDF5")
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
