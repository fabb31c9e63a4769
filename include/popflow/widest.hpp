#pragma once

// POPFLOW_VERSIONS(...) before a function compiles it for each of the named instruction sets and
// selects the widest that the machine supports; POPFLOW_WIDEST does so for all relevant sets.
// POPFLOW_AVX2 and POPFLOW_AVX512 compile a function for one set only, to be called if
// popflow::has_avx2() or popflow::has_avx512(). Multiplications and additions are never fused
// (-ffp-contract=off), so that all versions round alike. Disabled with sanitizers, which start up
// too late for the selection.
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

// Whether versions exist and the machine has the instructions.
#ifdef POPFLOW_HAS_VERSIONS
inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
inline bool has_avx512() { return __builtin_cpu_supports("avx512f") != 0; }
#else
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

}  // namespace popflow
