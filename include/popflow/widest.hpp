#pragma once

// POPFLOW_VERSIONS(...) before a function compiles it for the instruction sets that are named, of
// which the widest that the machine has is taken; POPFLOW_WIDEST for all that matter.
// POPFLOW_AVX2 and POPFLOW_AVX512 compile a function for these sets alone, to be called where
// popflow::has_avx2(), popflow::has_avx512().
// Multiplications and additions are never fused (-ffp-contract=off), so all versions round alike.
// Sanitizers start up too late for the choice.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define POPFLOW_VERSIONS(...) __attribute__((target_clones(__VA_ARGS__)))
#define POPFLOW_HAS_VERSIONS
#define POPFLOW_AVX2 __attribute__((target("avx2")))
#define POPFLOW_AVX512 __attribute__((target("avx512f")))
#else
#define POPFLOW_VERSIONS(...)
#define POPFLOW_AVX2
#define POPFLOW_AVX512
#endif
#define POPFLOW_WIDEST POPFLOW_VERSIONS("avx512f", "avx2", "default")

namespace popflow {

// Whether versions exist, and the machine has the instructions.
#ifdef POPFLOW_HAS_VERSIONS
inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
inline bool has_avx512() { return __builtin_cpu_supports("avx512f") != 0; }
#else
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

}  // namespace popflow
