#include "dynamics/joma/kernels.hpp"

#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::joma {

namespace {

// Separate sums, added in order, so that results are bit-for-bit identical however the compiler
// vectorises.
constexpr std::size_t kLanes = 8;

double total(const double (&lanes)[kLanes]) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// Rows of EntropySums, as a structure of arrays.
struct EntropyRows {
  double p[kLanes] = {}, u[kLanes] = {}, w[kLanes] = {}, uu[kLanes] = {}, uw[kLanes] = {};
  double noise[kLanes] = {}, unevenness[kLanes] = {};

  POPFLOW_MATH_INLINE void add(std::size_t lane, const EntropySums<double>& token) {
    EntropySums<double> sums = at(lane);
    sums.add(token);
    p[lane] = sums.p;
    u[lane] = sums.u;
    w[lane] = sums.w;
    uu[lane] = sums.uu;
    uw[lane] = sums.uw;
    noise[lane] = sums.noise;
    unevenness[lane] = sums.unevenness;
  }
  [[nodiscard]] POPFLOW_MATH_INLINE EntropySums<double> at(std::size_t lane) const {
    return {p[lane], u[lane], w[lane], uu[lane], uw[lane], noise[lane], unevenness[lane]};
  }
};

}  // namespace

POPFLOW_WIDEST void exponentials(std::size_t count, double factor, double highest, double c,
                                 double* values) {
  const AttentionNumbers<double> of{.inverse = factor, .offset = c, .highest = highest};
  for (std::size_t i = 0; i < count; ++i) values[i] = weight_of<Form::held>(of, values[i]);
}

POPFLOW_WIDEST double shifted_exponentials(std::size_t count, double factor, double largest,
                                           double* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = softmax_weight(factor, largest, values[i]);
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
  for (; i < count; ++i) sums[0] += values[i];
  return total(sums);
}

POPFLOW_WIDEST void target_squares(std::size_t count, const double* __restrict__ along,
                                   const double* __restrict__ length, const double* __restrict__ s,
                                   double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = target_motion(along[i], length[i], s[i]).square;
}

POPFLOW_WIDEST void target_motions(std::size_t count, const double* __restrict__ along,
                                   const double* __restrict__ length, const double* __restrict__ s,
                                   double* __restrict__ squares, double* __restrict__ growths) {
  for (std::size_t i = 0; i < count; ++i) {
    const Motion<double> motion = target_motion(along[i], length[i], s[i]);
    squares[i] = motion.square;
    growths[i] = motion.growth;
  }
}

POPFLOW_WIDEST void target_values(std::size_t count, const double* __restrict__ goal,
                                  const double* __restrict__ v0, const double* __restrict__ ahead,
                                  const double* __restrict__ s, double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const SplitExponential split = split_exponential(-s[i]);
    const double from_start = v0[i] - split.less_one() * ahead[i];
    const double from_goal = goal[i] - split.value() * ahead[i];
    out[i] = s[i] < 0.5 ? from_start : from_goal;
  }
}

POPFLOW_WIDEST void inverse_rates(std::size_t count, double factor, double along, double length,
                                  double across, const double* __restrict__ x,
                                  double* __restrict__ out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double y = along + length * (1 - x[i]);
    out[i] = exponential(-(y * y + across) * factor);
  }
}

POPFLOW_WIDEST void add_inverse_rates(std::size_t count, double factor, double node, double weight,
                                      const Panels& panels, double* __restrict__ sums) {
  const double* __restrict__ middle = panels.middle;
  const double* __restrict__ half = panels.half;
  const double* __restrict__ minus = panels.minus;
  const double* __restrict__ along = panels.along;
  const double* __restrict__ length = panels.length;
  const double* __restrict__ across = panels.across;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = middle[i] + node * half[i];
    const double y = along[i] + length[i] * (1 - x);
    sums[i] += weight * (exponential(-(y * y + across[i]) * factor) - minus[i]) / x;
  }
}

POPFLOW_WIDEST void progress_fractions(std::size_t count, const double* __restrict__ s,
                                       double* __restrict__ now, double* __restrict__ way) {
  for (std::size_t i = 0; i < count; ++i) {
    now[i] = exponential(-s[i]);
    way[i] = -exponential_m1(-s[i]);
  }
}

POPFLOW_WIDEST double largest(std::size_t count, const double* values) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  for (; i < count; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  double most = 0;
  for (const double lane : lanes) most = lane > most ? lane : most;
  return most;
}

POPFLOW_WIDEST void exponential_shares(std::size_t count, double factor, double reference,
                                       const double* __restrict__ squares, double* __restrict__ w,
                                       double* __restrict__ p) {
  const AttentionNumbers<double> of{.inverse = factor, .offset = 0, .highest = 0};
  for (std::size_t i = 0; i < count; ++i) {
    const Share<double> share = share_of<Form::exponential>(of, squares[i], reference);
    w[i] = share.w;
    p[i] = share.p;
  }
}

POPFLOW_WIDEST void root_shares(std::size_t count, double c, double reference,
                                const double* __restrict__ squares, double* __restrict__ w,
                                double* __restrict__ p) {
  const AttentionNumbers<double> of{.inverse = 0, .offset = c, .highest = 0};
  for (std::size_t i = 0; i < count; ++i) {
    const Share<double> share = share_of<Form::linear>(of, squares[i], reference);
    w[i] = share.w;
    p[i] = share.p;
  }
}

POPFLOW_WIDEST EntropySums<double> entropy_rate_sums(
    std::size_t count, const double* __restrict__ w, const double* __restrict__ p,
    const double* __restrict__ rates, const double* __restrict__ squares, double factor,
    double reference, double reference_rate) {
  const AttentionNumbers<double> of{.inverse = factor, .offset = 0, .highest = 0};
  EntropyRows sums;
  const auto add = [&](std::size_t lane, std::size_t i) __attribute__((always_inline)) {
    sums.add(lane, sums_of_token<double>({w[i], p[i]}, rates[i], reference_rate,
                                         size_of<Form::exponential>(of, squares[i], reference)));
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  for (; i < count; ++i) add(0, i);
  EntropySums<double> all;
  for (std::size_t lane = 0; lane < kLanes; ++lane) all.add(sums.at(lane));
  return all;
}

POPFLOW_WIDEST EntropySums<double> entropy_sums(std::size_t count, const double* __restrict__ w,
                                                const double* __restrict__ p) {
  double shares[kLanes] = {};
  double weighted[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      shares[lane] += p[i + lane];
      weighted[lane] += p[i + lane] * w[i + lane];
    }
  for (; i < count; ++i) {
    shares[0] += p[i];
    weighted[0] += p[i] * w[i];
  }
  EntropySums<double> sums;
  sums.p = total(shares);
  sums.w = total(weighted);
  return sums;
}

}  // namespace popflow::joma
