#include "dynamics/markov/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "dynamics/markov/bernoulli.hpp"
#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::markov {

namespace {

using std::size_t;

/// Rows of what the covariance is made of.
enum Noise : size_t {
  kMean,    // of PathSums, over positions
  kNoise0,  // pi0 p (1 - p) / N
  kNoise1,
  kBetween,  // what the correlation of positions adds
  kNoise
};

/// Rows of the parameters with the optimal bias.
enum Optimal : size_t {
  kPairs,      // 2 pi0 pi1
  kAsymmetry,  // of Chain, as some more
  kTwiceRoot,
  kAsymmetrySquare,
  kTwiceRootSquare,
  kCommon,  // max(pi0, pi1)
  kRare,    // 4 pi0 pi1 min(pi0, pi1)
  kFirst,   // 1 where 0 is the common symbol, 0 elsewhere
  kLine,    // dL/ds on the line e = 0
  kNear,    // 1 where s* is near 0, 0 elsewhere
  kBestChange,
  kBestChangeSquare,
  kLessBestStay,  // -pair_stay
  kBestStay1,     // pi1 (1 - q)
  kSettledLow,
  kSettledHigh,
  kInverse0,  // 1/pi0
  kInverse1,
  kOptimalNoise,  // and on: the rows of Noise
  kOptimal = kOptimalNoise + kNoise
};

/// ... and with a free one.
enum Free : size_t {
  kP,
  kQ,
  kPi0,
  kPi1,
  kLogitP,
  kLogitQ,
  kFreeNoise,  // and on: the rows of Noise
  kFree = kFreeNoise + kNoise
};

inline double at(const double* rows, size_t row, size_t lane) { return rows[row * kLanes + lane]; }

/// How two derivatives covary, by what a transition from 0 adds to each, one from 1, and both.
struct Noises {
  Noises(const double* rows, size_t l)
      : mean(at(rows, kMean, l)),
        n0(at(rows, kNoise0, l)),
        n1(at(rows, kNoise1, l)),
        n(at(rows, kBetween, l)) {}
  double mean, n0, n1, n;
  [[nodiscard]] double of(double u0, double v0, double u1, double v1, double u, double v) const {
    return n0 * u0 * v0 + n1 * u1 * v1 + n * u * v;
  }
};

/// A row of numbers on the way from one loop to the next.
struct alignas(64) Row {
  double of[kLanes];
};

/// The slopes s = e^2 k at the states, and dL/ds.
struct BySlope {
  Row ee, k;
  Row g1;
};

/// What PairsAt in chain.cpp divides by (a + S) and (D + S), numerator and denominator have been
/// multiplied by, since a division costs as much as the rest. There a is the smaller power, `less`,
/// and b 1 where the slope is positive; elsewhere it is the other way round: `up` chooses.
///
/// A loop each for the exponential, the root and the division, since each waits for the one before:
/// in one loop they would be a chain too long for the processor to begin with the next lanes
/// meanwhile. What is left then are multiplications, and so there are as few as can be.
inline __attribute__((always_inline)) void gradients_by_slope(const double* __restrict of,
                                                              const double* __restrict x,
                                                              BySlope& at_slope) {
  Row s, exponent, less, less_by, square, squares, S;
  for (size_t l = 0; l < kLanes; ++l) {
    const double e = x[l];
    const double w = acting(x[kLanes + l]);
    const double ww = w * std::abs(w);
    at_slope.ee.of[l] = e * e;
    at_slope.k.of[l] = 1 + (ww + ww);
    s.of[l] = at_slope.ee.of[l] * at_slope.k.of[l];
    const double half = -0.5 * std::abs(s.of[l]);
    // Beside the exponential, gcc makes two ways of this choice.
    exponent.of[l] = half < kLowestExponent ? kLowestExponent : half;
  }
  for (size_t l = 0; l < kLanes; ++l) {
    const SplitExponential split = split_exponential_within(exponent.of[l]);
    less.of[l] = split.value();
    less_by.of[l] = split.less_one();
  }
  for (size_t l = 0; l < kLanes; ++l) {
    const bool up = s.of[l] > 0;
    const double DD_by = at(of, kAsymmetrySquare, l);
    const double EE_by = at(of, kTwiceRootSquare, l);
    const double by_less = up ? DD_by : EE_by;
    const double by_one = up ? EE_by : DD_by;
    square.of[l] = less.of[l] * less.of[l];
    squares.of[l] = by_less * square.of[l] + by_one;
  }
  for (size_t l = 0; l < kLanes; ++l) {
    const double root = std::sqrt(squares.of[l]);
    const double E = at(of, kTwiceRoot, l) * (s.of[l] > 0 ? 1 : less.of[l]);
    S.of[l] = root > E ? root : E;  // where squares vanish
  }
  for (size_t l = 0; l < kLanes; ++l) {
    const bool up = s.of[l] > 0;
    const double a = up ? less.of[l] : 1;
    const double D_and_S = at(of, kAsymmetry, l) * a + S.of[l];
    const double divisor = (a + S.of[l]) * D_and_S;
    // Squares that vanish are of shares that are far smaller than what they are added to.
    const double change = at(of, kPairs, l) * a * D_and_S;
    const double common = at(of, kCommon, l) * (D_and_S * D_and_S);
    const double rare = at(of, kRare, l) * (up ? 1 : square.of[l]);
    const double stay0 = at(of, kFirst, l) != 0 ? common : rare;
    // b^2 x*^2 - a^2 stay: near independence from its value on the line, which is small, too.
    const double best = at(of, kBestChangeSquare, l);
    const double less_stay = at(of, kLessBestStay, l);
    const double by_less = up ? less_stay : best;
    const double by_one = up ? best : less_stay;
    const bool near = at(of, kNear, l) != 0;
    const double change_of_square = less_by.of[l] * (2 + less_by.of[l]);
    const double above =
        by_less * (near ? change_of_square : square.of[l]) + (near ? at(of, kLine, l) : by_one);
    const double by_aa = stay0 + at(of, kBestStay1, l) * divisor;
    const double by_bb = change + at(of, kBestChange, l) * divisor;
    const double below = (up ? by_aa : by_bb) * square.of[l] + (up ? by_bb : by_aa);
    at_slope.g1.of[l] = above * divisor / below;
  }
}

// gcc gives up where it would have to tell too many arrays apart: hence __restrict.
POPFLOW_WIDEST void optimal_flow(const LaneSizes& /*sizes*/, const double* __restrict of,
                                 const double* __restrict x, double* __restrict dxdt) {
  BySlope at_slope;
  gradients_by_slope(of, x, at_slope);
  for (size_t l = 0; l < kLanes; ++l) {
    const double by_s = -2 * at_slope.g1.of[l];
    const double w = std::abs(acting(x[kLanes + l]));
    dxdt[l] = x[l] * at_slope.k.of[l] * by_s;
    dxdt[kLanes + l] = (w + w) * at_slope.ee.of[l] * by_s;
  }
}

POPFLOW_WIDEST void optimal_flow_and_covariance(const double* __restrict of,
                                                const double* __restrict x, double* __restrict dxdt,
                                                double* __restrict covariance) {
  BySlope at_slope;
  gradients_by_slope(of, x, at_slope);
  for (size_t l = 0; l < kLanes; ++l) {
    const double e = x[l];
    const double w = acting(x[kLanes + l]);
    const double g1 = at_slope.g1.of[l];
    // The logits' derivatives by (e, w): (-e, 0) and (d1e, d1w).
    const double d1e = e * (1 + 4 * w * std::abs(w));
    const double d1w = 4 * e * e * std::abs(w);
    dxdt[l] = -(e + d1e) * g1;
    dxdt[kLanes + l] = -d1w * g1;
    const double g0_by = -g1 * at(of, kInverse0, l);
    const double g1_by = g1 * at(of, kInverse1, l);
    const double between_e = -g0_by * e - g1_by * d1e;
    const double between_w = -g1_by * d1w;
    const Noises noises(of + kOptimalNoise * kLanes, l);
    const double u0e = noises.mean * between_e - e;
    const double u0w = noises.mean * between_w;
    const double u1e = noises.mean * between_e + d1e;
    const double u1w = noises.mean * between_w + d1w;
    covariance[l] = noises.of(u0e, u0e, u1e, u1e, between_e, between_e);
    covariance[kLanes + l] = noises.of(u0e, u0w, u1e, u1w, between_e, between_w);
    covariance[2 * kLanes + l] = noises.of(u0w, u0w, u1w, u1w, between_w, between_w);
  }
}

POPFLOW_WIDEST void optimal_events(const LaneSizes& /*sizes*/, const double* __restrict of,
                                   const double* __restrict x, double* __restrict values) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double s = slope(x[l], x[kLanes + l]);
    const double above = s - at(of, kSettledLow, l);
    const double below = at(of, kSettledHigh, l) - s;
    values[l] = above < below ? above : below;
  }
}

/// sigmoid(logit(p) + d) - p; see bernoulli.hpp.
inline double change_of_coin(double p, double d) {
  const SplitExponential split = split_exponential(-std::abs(d));
  const double less = split.value();
  const double less_by = split.less_one();
  const double other = 1 - p;
  const double from = d > 0 ? p : other;
  const double to = d > 0 ? other : p;
  const double change = p * other * less_by / (from + to * less);
  return d > 0 ? -change : change;
}

/// sigmoid(f_0) - p and sigmoid(f_1) - (1 - q) at a state, that by q.
struct CoinChanges {
  double from0, from1;
};
inline CoinChanges coin_changes(const double* of, const double* x, size_t l) {
  const double e = x[l];
  const double f0 = x[2 * kLanes + l] - e * e / 2;
  const double f1 = f0 + slope(e, x[kLanes + l]);
  return {change_of_coin(at(of, kP, l), f0 - at(of, kLogitP, l)),
          -change_of_coin(at(of, kQ, l), -(f1 + at(of, kLogitQ, l)))};
}

POPFLOW_WIDEST void free_flow(const LaneSizes& /*sizes*/, const double* __restrict of,
                              const double* __restrict x, double* __restrict dxdt) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double e = x[l];
    const double w = acting(x[kLanes + l]);
    const auto [from0, from1] = coin_changes(of, x, l);
    const double g0 = at(of, kPi0, l) * from0;
    const double g1 = at(of, kPi1, l) * from1;
    dxdt[l] = -e * ((1 + 4 * w * std::abs(w)) * g1 - g0);
    dxdt[kLanes + l] = -4 * std::abs(w) * e * e * g1;
    dxdt[2 * kLanes + l] = -(g0 + g1);
  }
}

POPFLOW_WIDEST void free_flow_and_covariance(const double* __restrict of,
                                             const double* __restrict x, double* __restrict dxdt,
                                             double* __restrict covariance) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double e = x[l];
    const double w = acting(x[kLanes + l]);
    const auto [from0, from1] = coin_changes(of, x, l);
    const double g0 = at(of, kPi0, l) * from0;
    const double g1 = at(of, kPi1, l) * from1;
    // The logits' derivatives by (e, w, b): (-e, 0, 1) and (d1e, d1w, 1).
    const double d1e = e * (1 + 4 * w * std::abs(w));
    const double d1w = 4 * e * e * std::abs(w);
    dxdt[l] = e * g0 - d1e * g1;
    dxdt[kLanes + l] = -d1w * g1;
    dxdt[2 * kLanes + l] = -(g0 + g1);
    const double between_e = -from0 * e - from1 * d1e;
    const double between_w = -from1 * d1w;
    const double between_b = from0 - from1;
    const Noises noises(of + kFreeNoise * kLanes, l);
    const double u0e = noises.mean * between_e - e;
    const double u0w = noises.mean * between_w;
    const double ub = noises.mean * between_b + 1;
    const double u1e = noises.mean * between_e + d1e;
    const double u1w = noises.mean * between_w + d1w;
    covariance[l] = noises.of(u0e, u0e, u1e, u1e, between_e, between_e);
    covariance[kLanes + l] = noises.of(u0e, u0w, u1e, u1w, between_e, between_w);
    covariance[2 * kLanes + l] = noises.of(u0w, u0w, u1w, u1w, between_w, between_w);
    covariance[3 * kLanes + l] = noises.of(u0e, ub, u1e, ub, between_e, between_b);
    covariance[4 * kLanes + l] = noises.of(u0w, ub, u1w, ub, between_w, between_b);
    covariance[5 * kLanes + l] = noises.of(ub, ub, ub, ub, between_b, between_b);
  }
}

}  // namespace

const LaneFormulas& optimal_lanes() {
  static const LaneFormulas formulas{
      {kOptimal, 2}, optimal_flow, optimal_flow_and_covariance, optimal_events};
  return formulas;
}

const LaneFormulas& free_lanes() {
  static const LaneFormulas formulas{{kFree, 3}, free_flow, free_flow_and_covariance, nullptr};
  return formulas;
}

namespace {

void noise_parameters(const Chain& chain, const PathSums& sums, std::span<double> of) {
  const double N = sums.length;
  const double mean = sums.sum / N;
  const double spread = std::max(sums.squares - sums.sum * mean, 0.0);
  const double v0 = chain.pi0 * chain.p * (1 - chain.p);
  const double v1 = chain.pi1 * chain.q * (1 - chain.q);
  of[kMean] = mean;
  of[kNoise0] = v0 / N;
  of[kNoise1] = v1 / N;
  of[kBetween] = ((v0 + v1) * spread + chain.pi0 * chain.pi1 * sums.g * sums.g) / (N * N);
}

}  // namespace

void optimal_parameters(const Chain& chain, const PathSums& sums, const SlopeRange& settled,
                        std::span<double> of) {
  const double pairs = 2 * (chain.pi0 * chain.pi1);
  of[kPairs] = pairs;
  of[kAsymmetry] = chain.asymmetry;
  of[kTwiceRoot] = chain.twice_root;
  of[kAsymmetrySquare] = chain.asymmetry * chain.asymmetry;
  of[kTwiceRootSquare] = chain.twice_root * chain.twice_root;
  of[kCommon] = std::max(chain.pi0, chain.pi1);
  of[kRare] = 2 * pairs * std::min(chain.pi0, chain.pi1);
  of[kFirst] = chain.pi0 >= chain.pi1 ? 1 : 0;
  of[kLine] = chain.slope_at_line;
  of[kNear] = std::abs(chain.best_slope) < 1 ? 1 : 0;
  of[kBestChange] = chain.pair_change;
  of[kBestChangeSquare] = chain.pair_change * chain.pair_change;
  of[kLessBestStay] = -chain.pair_stay;
  of[kBestStay1] = chain.pi1 * (1 - chain.q);
  of[kSettledLow] = settled.low;
  of[kSettledHigh] = settled.high;
  of[kInverse0] = 1 / chain.pi0;
  of[kInverse1] = 1 / chain.pi1;
  noise_parameters(chain, sums, of.subspan(kOptimalNoise));
}

void free_parameters(const Chain& chain, const PathSums& sums, std::span<double> of) {
  of[kP] = chain.p;
  of[kQ] = chain.q;
  of[kPi0] = chain.pi0;
  of[kPi1] = chain.pi1;
  of[kLogitP] = chain.logit_p;
  of[kLogitQ] = chain.logit_q;
  noise_parameters(chain, sums, of.subspan(kFreeNoise));
}

}  // namespace popflow::markov
