#include "dynamics/scb/kernels.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstring>

#include "popflow/streaming.hpp"

namespace popflow::scb {

namespace {

// Two numbers in a vector register. Eight running sums, spelled out, because left to itself the
// compiler spills them; more would not fit the registers every x86-64 has.
typedef double Pair __attribute__((vector_size(16)));
constexpr std::size_t kPairs = 4;

// What affine() writes at a stretch, from its first number to its last.
constexpr std::size_t kStretch = 8192;

void affine_stretch(double slope, double shift, const double* x, double* y, std::size_t n,
                    bool stream) {
  if (!stream) {
    for (std::size_t i = 0; i < n; ++i) y[i] = slope * x[i] + shift;
    return;
  }
  constexpr std::size_t kPiece = 512;
  alignas(64) double piece[kPiece];
  for (std::size_t from = 0; from < n; from += kPiece) {
    const std::size_t count = std::min(kPiece, n - from);
    for (std::size_t i = 0; i < count; ++i) piece[i] = slope * x[from + i] + shift;
    store_past_caches(piece, y + from, count);
  }
}

}  // namespace

Sums sums(const double* x, std::size_t n) {
  Pair sum[kPairs] = {};
  Pair squares[kPairs] = {};
  std::size_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      Pair v;
      std::memcpy(&v, x + i + 2 * pair, sizeof v);
      sum[pair] += v;
      squares[pair] += v * v;
    }
  }
  Sums total;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    total.sum += sum[pair][0] + sum[pair][1];
    total.squares += squares[pair][0] + squares[pair][1];
  }
  for (; i < n; ++i) {
    total.sum += x[i];
    total.squares += x[i] * x[i];
  }
  return total;
}

void affine(double slope, double shift, const double* x, double* y, std::size_t n, bool stream) {
  // Backwards: the end of a column that has just been summed is still in the second-level cache.
  for (std::size_t end = n; end > 0;) {
    const std::size_t begin = (end - 1) / kStretch * kStretch;
    affine_stretch(slope, shift, x + begin, y + begin, end - begin, stream);
    end = begin;
  }
  if (stream) finish_stores();
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
