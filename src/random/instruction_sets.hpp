#pragma once

// Loops that the compiler does not vectorise are written once, in files *_lanes.inc. A source
// includes such a file several times, each time with another POPFLOW_WIDTH (64-bit numbers per
// vector):
//
// - 2 for the baseline
// - 4 between POPFLOW_BEGIN_AVX2 and POPFLOW_END_VERSION
// - 8 between POPFLOW_BEGIN_AVX512 and POPFLOW_END_VERSION
//
// All versions are bit-for-bit identical: the result in a lane does not depend on the number of
// lanes, and multiplications and additions are never fused (-ffp-contract=off).
#if defined(__clang__)
#define POPFLOW_BEGIN_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define POPFLOW_BEGIN_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f\"))), apply_to = function)")
#define POPFLOW_END_VERSION _Pragma("clang attribute pop")
#else
#define POPFLOW_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define POPFLOW_BEGIN_AVX512 _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f\")")
#define POPFLOW_END_VERSION _Pragma("GCC pop_options")
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define POPFLOW_HAS_AVX 1
#include <immintrin.h>
#else
#define POPFLOW_HAS_AVX 0
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#endif

namespace popflow {

/// Widest version to run. Only tests select it; all other code uses the best version that the
/// machine supports.
enum class InstructionSet { baseline, avx2, best };
inline constexpr InstructionSet kAllInstructionSets[] = {
    InstructionSet::baseline, InstructionSet::avx2, InstructionSet::best};

#if POPFLOW_HAS_AVX
inline bool use_avx2(InstructionSet set) {
  return set != InstructionSet::baseline && __builtin_cpu_supports("avx2") != 0;
}
inline bool use_avx512(InstructionSet set) {
  return set == InstructionSet::best && __builtin_cpu_supports("avx512f") != 0;
}
#endif

}  // namespace popflow
