#include "dynamics/scb/kernels.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstring>

#include "dynamics/common/array_math.hpp"
#include "machine/streaming.hpp"
#include "popflow/widest.hpp"

namespace popflow::scb {

namespace {

// Eight partial sums, written out in pairs, because the compiler would otherwise spill them; more
// would not fit the registers of every x86-64.
constexpr std::size_t kPairs = 4;

// Prefetch distance in numbers: one page, because the processor's own prefetching stops at page
// ends.
constexpr std::size_t kAhead = 512;

// Partial sums over a column.
class RunningSums {
 public:
  // Adds eight numbers.
  void add(const Pair (&v)[kPairs]) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      sum_[pair] += v[pair];
      squares_[pair] += v[pair] * v[pair];
    }
  }
  void add(double v) {
    rest_.sum += v;
    rest_.squares += v * v;
  }
  [[nodiscard]] Sums total() const {
    Sums total = rest_;
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      total.sum += sum_[pair][0] + sum_[pair][1];
      total.squares += squares_[pair][0] + squares_[pair][1];
    }
    return total;
  }

 private:
  Pair sum_[kPairs] = {};
  Pair squares_[kPairs] = {};
  Sums rest_;
};

void load(const double* x, Pair (&v)[kPairs]) { std::memcpy(v, x, sizeof v); }

template <bool stream>
void store(double* y, const Pair (&v)[kPairs]) {
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    if constexpr (stream)
      store_pair_past_caches(y + 2 * pair, v[pair]);
    else
      std::memcpy(y + 2 * pair, &v[pair], sizeof v[pair]);
  }
}

template <bool stream, bool with_sums>
Sums affine_pass(double slope, double shift, const double* x, double* y, std::size_t n) {
  RunningSums sums;
  const auto one = [&](std::size_t i) {
    if constexpr (with_sums) sums.add(x[i]);
    y[i] = slope * x[i] + shift;
  };
  const Pair a = {slope, slope};
  const Pair b = {shift, shift};
  std::size_t i = 0;
  for (const std::size_t head = stream ? to_line(y, n) : 0; i < head; ++i) one(i);
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
    Pair v[kPairs];
    if constexpr (stream) __builtin_prefetch(x + i + kAhead);
    load(x + i, v);
    if constexpr (with_sums) sums.add(v);
    for (Pair& pair : v) pair = a * pair + b;
    store<stream>(y + i, v);
  }
  for (; i < n; ++i) one(i);
  if constexpr (stream) finish_stores();
  return sums.total();
}

}  // namespace

Sums sums(const double* x, std::size_t n) {
  RunningSums sums;
  std::size_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
    Pair v[kPairs];
    load(x + i, v);
    sums.add(v);
  }
  for (; i < n; ++i) sums.add(x[i]);
  return sums.total();
}

void affine(double slope, double shift, const double* x, double* y, std::size_t n, bool stream) {
  if (stream)
    affine_pass<true, false>(slope, shift, x, y, n);
  else
    affine_pass<false, false>(slope, shift, x, y, n);
}

Sums affine_sums(double slope, double shift, const double* x, double* y, std::size_t n,
                 bool stream) {
  return stream ? affine_pass<true, true>(slope, shift, x, y, n)
                : affine_pass<false, true>(slope, shift, x, y, n);
}

POPFLOW_VERSIONS("avx2", "default")
Sums affine_sums_add(double slope, double shift, double factor, const double* __restrict__ z,
                     double* __restrict__ x, std::size_t n) {
  typedef double Four __attribute__((vector_size(32)));
  constexpr std::size_t kFours = 2;
  Four sums[kFours] = {};
  Four squares[kFours] = {};
  std::size_t i = 0;
  for (; i + 4 * kFours <= n; i += 4 * kFours) {
    for (std::size_t j = 0; j < kFours; ++j) {
      Four v, added;
      std::memcpy(&v, x + i + 4 * j, sizeof v);
      std::memcpy(&added, z + i + 4 * j, sizeof added);
      sums[j] += v;
      squares[j] += v * v;
      v = slope * v + shift + factor * added;
      std::memcpy(x + i + 4 * j, &v, sizeof v);
    }
  }
  Sums total;
  for (; i < n; ++i) {
    total.sum += x[i];
    total.squares += x[i] * x[i];
    x[i] = slope * x[i] + shift + factor * z[i];
  }
  for (std::size_t j = 0; j < kFours; ++j) {
    for (int lane = 0; lane < 4; ++lane) {
      total.sum += sums[j][lane];
      total.squares += squares[j][lane];
    }
  }
  return total;
}

Sums exponentials(const double* x, double* y, std::size_t n) {
  write_relative_weights(x, static_cast<Eigen::Index>(n), y);
  return sums(y, n);
}

void softmax_rule(double slope, double shift, double total, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double a = y[i] / total;
    y[i] = a * (slope * a + shift);
  }
}

}  // namespace popflow::scb
