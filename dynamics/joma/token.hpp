#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "dynamics/joma/look.hpp"
#include "numerics/exponential.hpp"

/// The arithmetic of one token. Inlined, it is vectorised over tokens in `kernels` and over
/// trajectories in `lanes`.
namespace popflow::joma {

/// A token's S, but for `across`, and (dS/dt) / (2 b).
struct Motion {
  double square, growth;
};

/// y = along + length s
inline Motion drive_motion(double along, double length, double s) {
  const double y = along + length * s;
  return {y * y, y * length};
}

/// y = along + length (1 - e^{-s})
inline Motion target_motion(double along, double length, double s) {
  const SplitExponential split = split_exponential(-s);
  const double y = along - length * split.less_one();
  return {y * y, y * (length * split.value())};
}

/// Attention relative to a reference's: w = log(b/b_ref) and p = e^w; where that is negligible
/// p = 0 and w = kLowestExponent.
struct Share {
  double w, p;
};

/// By w.
inline Share exponential_share(double w) {
  const bool counts = w > kLowestExponent;
  const double kept = counts ? w : kLowestExponent;
  const double share = exponential(kept);
  return {kept, counts ? share : 0};
}

/// By p^2.
inline Share root_share(double ratio) {
  const bool counts = ratio >= std::numeric_limits<double>::min();
  const double half = 0.5 * logarithm(ratio);
  return {counts ? half : kLowestExponent, std::sqrt(counts ? ratio : 0)};
}

/// d log(b)/dt in units of the reference's b, whose root of S + c is `unit`, with linear attention.
inline double root_rate(double p, double growth, double unit) {
  const double b = p * unit;
  const double rate = growth / (b > 0 ? b : 1) / unit;
  return b > 0 ? rate : 0;
}

/// Sums over all tokens but the reference of what makes the entropy and its derivative; u is a
/// token's rate less the reference's.
struct EntropySums {
  double p = 0, u = 0, w = 0, uu = 0, uw = 0;
  double noise = 0;       ///< rounding error of uw
  double unevenness = 0;  ///< largest |w| relative to its rounding
  void add(const EntropySums& other);
};

/// Several of them side by side.
template <std::size_t n>
struct EntropyRows {
  double p[n] = {}, u[n] = {}, w[n] = {}, uu[n] = {}, uw[n] = {};
  double noise[n] = {}, unevenness[n] = {};

  /// A token whose logarithm w is known to within the rounding of `size`, or of 1.
  __attribute__((always_inline)) void add(std::size_t at, const Share& share, double rate,
                                          double reference_rate, double size) {
    const double change = rate - reference_rate;
    const double pu = share.p * change;
    const double distance = std::abs(share.w);
    const double beside = distance / (size > 1 ? size : 1);
    p[at] += share.p;
    u[at] += pu;
    w[at] += share.p * share.w;
    uu[at] += pu * change;
    uw[at] += pu * share.w;
    noise[at] += share.p * (std::abs(rate) + std::abs(reference_rate)) * (distance + size);
    unevenness[at] = beside > unevenness[at] ? beside : unevenness[at];
  }
  [[nodiscard]] EntropySums at(std::size_t i) const {
    return {p[i], u[i], w[i], uu[i], uw[i], noise[i], unevenness[i]};
  }
};

/// The entropy, by the sums' p and w; `log` is the logarithm of 1 + p.
inline double entropy_of(const EntropySums& sums, double log) {
  return log - sums.w / (1 + sums.p);
}

/// dH/dt = -cov_p(d log b/dt, log b). Both are taken relative to the token with the largest
/// attention, so that nothing cancels when it has nearly all of it; in units of its attention,
/// which changes no sign.
inline EntropyRate entropy_rate_of(const EntropySums& sums) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  EntropyRate rate;
  const double total = 1 + sums.p;
  rate.slope = -(sums.uw - sums.u * sums.w / total) / total;
  rate.noise = 8 * kEpsilon * sums.noise / total + std::numeric_limits<double>::min();
  rate.even = sums.unevenness <= 4 * kEpsilon;  // but for rounding
  // Even attention is the entropy's maximum: it falls from there if any two rates differ.
  const double spread = sums.uu / total - sums.u * sums.u / total / total;
  rate.falls = spread > 1e-24 * sums.uu;
  return rate;
}

}  // namespace popflow::joma
