#pragma once

/// POPFLOW_WIDEST before a function compiles it for several instruction sets, of which the machine
/// takes the best. Multiplications and additions are never fused (-ffp-contract=off), so all
/// versions round alike. Sanitizers start up too late for the choice between them.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define POPFLOW_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define POPFLOW_WIDEST
#endif
