#pragma once

// POPFLOW_VERSIONS(...) before a function compiles it for the instruction sets that are named, of
// which the widest that the machine has is taken; POPFLOW_WIDEST for all that matter.
// Multiplications and additions are never fused (-ffp-contract=off), so all versions round alike.
// Sanitizers start up too late for the choice.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define POPFLOW_VERSIONS(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define POPFLOW_VERSIONS(...)
#endif
#define POPFLOW_WIDEST POPFLOW_VERSIONS("avx512f", "avx2", "default")
