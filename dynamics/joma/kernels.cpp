#include "dynamics/joma/kernels.hpp"

#include "dynamics/joma/exponential.hpp"

// AVX2 has no fused multiply-add, so both versions round alike. Sanitizers start up too late for
// the choice between them.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define POPFLOW_WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define POPFLOW_WIDEST
#endif

namespace popflow::joma {

POPFLOW_WIDEST void exponentials(std::size_t count, double factor, double highest, double c,
                                 double* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const double z = values[i] * factor;
    values[i] = exponential((z > highest ? highest : z) + c);
  }
}

POPFLOW_WIDEST double shifted_exponentials(std::size_t count, double factor, double largest,
                                           double* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = exponential(values[i] * factor - largest);
  // Sums of their own, added in order: the same bits however the compiler vectorises.
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
  for (; i < count; ++i) sums[0] += values[i];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

POPFLOW_WIDEST void target_squares(std::size_t count, const double* __restrict__ along,
                                   const double* __restrict__ length, const double* __restrict__ s,
                                   double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double y = along[i] - length[i] * exponential_m1(-s[i]);
    out[i] = y * y;
  }
}

POPFLOW_WIDEST void target_growths(std::size_t count, const double* __restrict__ along,
                                   const double* __restrict__ length, const double* __restrict__ s,
                                   double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const SplitExponential split = split_exponential(-s[i]);
    const double left = split.power + split.power * split.rest;
    const double gone = split.power * split.rest + (split.power - 1);
    out[i] = (along[i] - length[i] * gone) * (length[i] * left);
  }
}

POPFLOW_WIDEST void target_values(std::size_t count, const double* __restrict__ goal,
                                  const double* __restrict__ v0, const double* __restrict__ ahead,
                                  const double* __restrict__ s, double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const SplitExponential split = split_exponential(-s[i]);
    const double left = split.power + split.power * split.rest;
    const double gone = split.power * split.rest + (split.power - 1);
    const double from_start = v0[i] - gone * ahead[i];
    const double from_goal = goal[i] - left * ahead[i];
    out[i] = s[i] < 0.5 ? from_start : from_goal;
  }
}

POPFLOW_WIDEST void slownesses(std::size_t count, double factor, double along, double length,
                               double across, const double* __restrict__ x,
                               double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double y = along + length * (1 - x[i]);
    out[i] = exponential(-(y * y + across) * factor);
  }
}

}  // namespace popflow::joma
