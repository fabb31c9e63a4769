#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace popflow {

/// Size, in numbers, from which a state does not fit in the last-level cache. New values of such a
/// state are not read again soon, and stores that bypass the caches need not read the lines that
/// they overwrite.
constexpr std::size_t kStreamFrom = std::size_t{4} << 20;

/// Two numbers in a vector register.
typedef double Pair __attribute__((vector_size(16)));

/// Number of doubles before the next cache line, at most n: streaming stores write whole lines.
inline std::size_t to_line(const double* at, std::size_t n) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(at) % 64;
  return std::min(n, past == 0 ? 0 : (64 - past) / sizeof(double));
}

/// Stores two numbers at an address that is a multiple of 16, bypassing the caches if the machine
/// can.
inline void store_pair_past_caches(double* to, Pair pair) {
#if defined(__SSE2__)
  _mm_stream_pd(to, pair);
#else
  std::memcpy(to, &pair, sizeof pair);
#endif
}

/// Must follow streaming stores before another thread reads the results.
inline void finish_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Copies n numbers with streaming stores; finish_stores() must follow.
inline void store_past_caches(const double* from, double* to, std::size_t n) {
  std::size_t i = 0;
  for (const std::size_t head = to_line(to, n); i < head; ++i) to[i] = from[i];
  for (; i + 8 <= n; i += 8) {
    for (std::size_t j = 0; j < 8; j += 2) {
      Pair pair;
      std::memcpy(&pair, from + i + j, sizeof pair);
      store_pair_past_caches(to + i + j, pair);
    }
  }
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace popflow
