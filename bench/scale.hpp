#pragma once

#include <algorithm>
#include <cstddef>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "popflow/workers.hpp"

namespace popflow::bench {

/// Computes y = c x with stores that bypass the caches: the largest memory bandwidth of a thread.
inline void scale(double c, const double* x, double* y, std::size_t n) {
  std::size_t i = 0;
#if defined(__SSE2__)
  const __m128d factor = _mm_set1_pd(c);
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; j += 2)
      _mm_stream_pd(y + i + j, _mm_mul_pd(factor, _mm_loadu_pd(x + i + j)));
  _mm_sfence();
#endif
  for (; i < n; ++i) y[i] = c * x[i];
}

/// Computes y = c x on all threads.
inline void scale(Workers& workers, double c, const double* x, double* y, std::size_t n) {
  constexpr std::size_t kStretch = std::size_t{1} << 17;
  workers.run((n + kStretch - 1) / kStretch, [&](std::size_t task) {
    const std::size_t begin = task * kStretch;
    scale(c, x + begin, y + begin, std::min(n, begin + kStretch) - begin);
  });
}

}  // namespace popflow::bench
