#include "dynamics/joma/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/common/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::joma {

namespace {

// Separate sums, added in order: bit-for-bit identical however the compiler vectorises.
constexpr std::size_t kLanes = 8;

double total(const double (&lanes)[kLanes]) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

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
  for (std::size_t i = 0; i < count; ++i) {
    const double y = along[i] - length[i] * exponential_m1(-s[i]);
    out[i] = y * y;
  }
}

POPFLOW_WIDEST void target_motions(std::size_t count, const double* __restrict__ along,
                                   const double* __restrict__ length, const double* __restrict__ s,
                                   double* __restrict__ squares, double* __restrict__ growths) {
  for (std::size_t i = 0; i < count; ++i) {
    const SplitExponential split = split_exponential(-s[i]);
    const double left = split.power + split.power * split.rest;
    const double gone = split.power * split.rest + (split.power - 1);
    const double y = along[i] - length[i] * gone;
    squares[i] = y * y;
    growths[i] = y * (length[i] * left);
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

POPFLOW_WIDEST void add_slownesses(std::size_t count, double factor, double node, double weight,
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

POPFLOW_WIDEST void ways(std::size_t count, const double* __restrict__ s, double* __restrict__ now,
                         double* __restrict__ way) {
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
  for (std::size_t i = 0; i < count; ++i) {
    const double ratio = (squares[i] - reference) * factor;
    const bool counts = ratio > kLowestExponent;
    w[i] = counts ? ratio : kLowestExponent;
    const double share = exponential(w[i]);
    p[i] = counts ? share : 0;
  }
}

POPFLOW_WIDEST void root_shares(std::size_t count, double c, double reference,
                                const double* __restrict__ squares, double* __restrict__ w,
                                double* __restrict__ p) {
  for (std::size_t i = 0; i < count; ++i) {
    const double ratio = (squares[i] + c) / (reference + c);
    const bool counts = ratio >= std::numeric_limits<double>::min();
    const double half = 0.5 * logarithm(ratio);
    w[i] = counts ? half : kLowestExponent;
    p[i] = counts ? ratio : 0;
  }
  for (std::size_t i = 0; i < count; ++i) p[i] = std::sqrt(p[i]);
}

void EntropySums::add(const EntropySums& other) {
  p += other.p;
  u += other.u;
  w += other.w;
  uu += other.uu;
  uw += other.uw;
  noise += other.noise;
  unevenness = std::max(unevenness, other.unevenness);
}

POPFLOW_WIDEST EntropySums entropy_rate_sums(std::size_t count, const double* __restrict__ w,
                                             const double* __restrict__ p,
                                             const double* __restrict__ rates,
                                             const double* __restrict__ squares, double factor,
                                             double reference, double reference_rate) {
  struct {
    double p[kLanes], u[kLanes], w[kLanes], uu[kLanes], uw[kLanes], noise[kLanes], uneven[kLanes];
  } sums = {};
  const double of_reference = std::abs(reference_rate);
  const auto add = [&](std::size_t lane, std::size_t i) __attribute__((always_inline)) {
    const double size = (squares[i] + reference) * factor;
    const double u = rates[i] - reference_rate;
    const double pu = p[i] * u;
    const double distance = std::abs(w[i]);
    const double beside = distance / (size > 1 ? size : 1);
    sums.p[lane] += p[i];
    sums.u[lane] += pu;
    sums.w[lane] += p[i] * w[i];
    sums.uu[lane] += pu * u;
    sums.uw[lane] += pu * w[i];
    sums.noise[lane] += p[i] * (std::abs(rates[i]) + of_reference) * (distance + size);
    sums.uneven[lane] = beside > sums.uneven[lane] ? beside : sums.uneven[lane];
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, i + lane);
  for (; i < count; ++i) add(0, i);
  EntropySums all{.p = total(sums.p),
                  .u = total(sums.u),
                  .w = total(sums.w),
                  .uu = total(sums.uu),
                  .uw = total(sums.uw),
                  .noise = total(sums.noise)};
  for (const double lane : sums.uneven) all.unevenness = std::max(all.unevenness, lane);
  return all;
}

POPFLOW_WIDEST EntropySums entropy_sums(std::size_t count, const double* __restrict__ w,
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
  return {.p = total(shares), .w = total(weighted)};
}

}  // namespace popflow::joma
