# How everything here is compiled: popflow_options is linked privately to each of our targets and
# is not exported, since none of it concerns who uses the library.

add_library(popflow_options INTERFACE)

# A compiler that contracts a*b+c to one fused operation gives other bits on machines that have the
# instruction than on those that lack it. A run must give the same bits on both. (-ffast-math, for
# the same reason and since it lets NaN go unseen, is never used.)
set(POPFLOW_NUMERICS_FLAGS -ffp-contract=off)
target_compile_options(popflow_options INTERFACE ${POPFLOW_NUMERICS_FLAGS})

target_compile_options(popflow_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  "$<$<BOOL:${POPFLOW_WERROR}>:-Werror>")
# gcc 12 sees overlapping and endless copies in std::string's operator+ where none are (its bugs
# 105329 and 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(popflow_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
# Private types of sources that are compiled together are no header's.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(popflow_options INTERFACE -Wno-subobject-linkage)
endif()

if(POPFLOW_SANITIZE)
  set(POPFLOW_SANITIZE_FLAGS "-fsanitize=${POPFLOW_SANITIZE}" -fno-omit-frame-pointer)
  if(NOT POPFLOW_SANITIZE MATCHES "thread")
    list(APPEND POPFLOW_SANITIZE_FLAGS -fno-sanitize-recover=all)
  endif()
  # What these look for crashes under the address sanitizer anyway (null pointers, objects too small,
  # pointers beyond), needs casts that nobody here makes (vptr), or harms on these machines only where
  # vector registers are loaded, and crashes there (alignment). They took a quarter of the build.
  if(POPFLOW_SANITIZE MATCHES "address.*undefined")
    list(APPEND POPFLOW_SANITIZE_FLAGS
      -fno-sanitize=null,object-size,vptr,pointer-overflow,alignment)
  endif()
  # With the sanitizers' instrumentation in between, gcc sees uninitialized values where none are.
  target_compile_options(popflow_options INTERFACE
    ${POPFLOW_SANITIZE_FLAGS} "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
  target_compile_definitions(popflow_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(popflow_options INTERFACE ${POPFLOW_SANITIZE_FLAGS})
endif()

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for where there are precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
endif()
