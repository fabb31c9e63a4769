# popflow_options: compiler options of all our targets. Linked privately and not exported, since users
# of the library do not need them.

add_library(popflow_options INTERFACE)

# No contraction of a*b+c to a fused operation: a run must give the same bits on machines with and
# without the instruction. (-ffast-math is never used for the same reason, and because it hides NaN.)
set(POPFLOW_NUMERICS_FLAGS -ffp-contract=off)
target_compile_options(popflow_options INTERFACE ${POPFLOW_NUMERICS_FLAGS})

target_compile_options(popflow_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  "$<$<BOOL:${POPFLOW_WERROR}>:-Werror>")
# False warnings of gcc 12 about overlapping copies in std::string's operator+ (gcc bugs 105329 and
# 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(popflow_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
# Unity builds put private types of several sources into one translation unit.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(popflow_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
endif()

if(POPFLOW_SANITIZE)
  set(POPFLOW_SANITIZE_FLAGS "-fsanitize=${POPFLOW_SANITIZE}" -fno-omit-frame-pointer)
  if(NOT POPFLOW_SANITIZE MATCHES "thread")
    list(APPEND POPFLOW_SANITIZE_FLAGS -fno-sanitize-recover=all)
  endif()
  # Some checks are left out, because they took a quarter of the build time. Their errors crash under
  # the address sanitizer anyway (null pointers, objects too small, pointers out of range), need casts
  # that this code does not have (vptr), or crash by themselves on x86 (alignment of vector loads).
  if(POPFLOW_SANITIZE MATCHES "address.*undefined")
    list(APPEND POPFLOW_SANITIZE_FLAGS
      -fno-sanitize=null,object-size,vptr,pointer-overflow,alignment)
  endif()
  # The sanitizers' instrumentation causes false warnings of gcc about uninitialized values.
  target_compile_options(popflow_options INTERFACE
    ${POPFLOW_SANITIZE_FLAGS} "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
  target_compile_definitions(popflow_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(popflow_options INTERFACE ${POPFLOW_SANITIZE_FLAGS})
endif()

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache requires this sloppiness with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
endif()
