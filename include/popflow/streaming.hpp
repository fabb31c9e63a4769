#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace popflow {

/// States from this many numbers on do not fit the last-level cache: what is written to them is not
/// read again soon, and stores that bypass the caches save reading the lines to be overwritten.
constexpr std::size_t kStreamFrom = std::size_t{4} << 20;

#if defined(__SSE2__)

/// Copies n numbers with stores that bypass the caches; finish_stores() must follow before another
/// thread reads them.
inline void store_past_caches(const double* from, double* to, std::size_t n) {
  std::size_t i = 0;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % 64;
  const std::size_t head = std::min(n, past == 0 ? 0 : (64 - past) / sizeof(double));
  for (; i < head; ++i) to[i] = from[i];
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; j += 2) _mm_stream_pd(to + i + j, _mm_loadu_pd(from + i + j));
  for (; i < n; ++i) to[i] = from[i];
}

inline void finish_stores() { _mm_sfence(); }

#else

inline void store_past_caches(const double* from, double* to, std::size_t n) {
  std::copy_n(from, n, to);
}
inline void finish_stores() {}

#endif

}  // namespace popflow
