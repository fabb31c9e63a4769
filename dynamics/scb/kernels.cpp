#include "dynamics/scb/kernels.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace popflow::scb {

namespace {

constexpr std::size_t kLanes = 16;

#if defined(__SSE2__)
// Numbers up to the next boundary of a cache line, where streaming stores begin.
std::size_t to_line(const double* y, std::size_t n) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(y) % 64;
  return std::min(n, past == 0 ? 0 : (64 - past) / sizeof(double));
}
#endif

}  // namespace

Sums sums(const double* x, std::size_t n) {
  double sum[kLanes] = {};
  double squares[kLanes] = {};
  const std::size_t whole = n - n % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum[lane] += x[i + lane];
      squares[lane] += x[i + lane] * x[i + lane];
    }
  }
  for (std::size_t i = whole; i < n; ++i) {
    sum[i - whole] += x[i];
    squares[i - whole] += x[i] * x[i];
  }
  Sums total;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sum[lane];
    total.squares += squares[lane];
  }
  return total;
}

void affine(double slope, double shift, const double* x, double* y, std::size_t n, bool stream) {
  std::size_t i = 0;
#if defined(__SSE2__)
  if (stream) {
    for (const std::size_t head = to_line(y, n); i < head; ++i) y[i] = slope * x[i] + shift;
    const __m128d a = _mm_set1_pd(slope);
    const __m128d b = _mm_set1_pd(shift);
    for (; i + 8 <= n; i += 8) {
      for (std::size_t j = 0; j < 8; j += 2)
        _mm_stream_pd(y + i + j, _mm_add_pd(_mm_mul_pd(a, _mm_loadu_pd(x + i + j)), b));
    }
    _mm_sfence();
  }
#else
  (void)stream;
#endif
  for (; i < n; ++i) y[i] = slope * x[i] + shift;
}

Sums exponentials(const double* x, double* y, std::size_t n) {
  const Eigen::Map<const Eigen::ArrayXd> in(x, static_cast<Eigen::Index>(n));
  Eigen::Map<Eigen::ArrayXd> out(y, static_cast<Eigen::Index>(n));
  const double high = in.maxCoeff();
  out = (in - high).exp();
  return sums(y, n);
}

void softmax_rule(double slope, double shift, double total, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double a = y[i] / total;
    y[i] = a * (slope * a + shift);
  }
}

}  // namespace popflow::scb
