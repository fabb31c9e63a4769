# Debian ships utf8proc without a CMake package. Defines Utf8proc::Utf8proc.

find_path(Utf8proc_INCLUDE_DIR utf8proc.h DOC "Folder that holds utf8proc.h")
find_library(Utf8proc_LIBRARY utf8proc DOC "The library utf8proc")
mark_as_advanced(Utf8proc_INCLUDE_DIR Utf8proc_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Utf8proc
  REQUIRED_VARS Utf8proc_LIBRARY Utf8proc_INCLUDE_DIR
  REASON_FAILURE_MESSAGE
    "Install the package libutf8proc-dev (Debian, Ubuntu) or utf8proc (conda-forge).")

if(Utf8proc_FOUND AND NOT TARGET Utf8proc::Utf8proc)
  add_library(Utf8proc::Utf8proc UNKNOWN IMPORTED)
  set_target_properties(Utf8proc::Utf8proc PROPERTIES
    IMPORTED_LOCATION "${Utf8proc_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Utf8proc_INCLUDE_DIR}")
endif()
