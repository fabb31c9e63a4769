#pragma once

// Loops that the compiler does not vectorise by itself are written once, in files *_lanes.inc that
// a source includes twice: with POPFLOW_WIDTH (numbers of 64 bits in a vector) 2 for what every
// machine has, and 4 between POPFLOW_BEGIN_AVX2 and POPFLOW_END_AVX2. What is computed in a lane
// does not depend on how many lanes there are, and AVX2 has no fused multiply-add: both versions
// are bit-for-bit identical.
#if defined(__clang__)
#define POPFLOW_BEGIN_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define POPFLOW_END_AVX2 _Pragma("clang attribute pop")
#else
#define POPFLOW_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define POPFLOW_END_AVX2 _Pragma("GCC pop_options")
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define POPFLOW_HAS_AVX2 1
#include <immintrin.h>
#else
#define POPFLOW_HAS_AVX2 0
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#endif

namespace popflow {

/// Which version to run. For tests: everyone else takes the best that the machine has.
enum class Lanes { baseline, best };

#if POPFLOW_HAS_AVX2
inline bool use_avx2(Lanes lanes) {
  return lanes == Lanes::best && __builtin_cpu_supports("avx2") != 0;
}
#endif

}  // namespace popflow
