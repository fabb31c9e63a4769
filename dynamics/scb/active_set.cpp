#include "dynamics/scb/active_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/scb/threshold.hpp"

namespace popflow::scb {

namespace {

// Margin for decisions about weights near zero. A weight closer to zero than this, in units of 1/T,
// counts as zero, and a drift that exceeds the penalty by this fraction moves a weight. The margin
// is above rounding and far below any tolerance. Decisions about a weight at zero use half of it,
// so that a change does not immediately cause its reverse.
constexpr double kMargin = 1e-12;

/// Minimum of two numbers; NaN if either is NaN.
double smaller(double a, double b) { return a <= b || std::isnan(a) ? a : b; }

}  // namespace

ActiveSet::ActiveSet(Weights weights, double l1, bool project, Workers& workers)
    : weights_(std::move(weights)), l1_(l1), project_(project), workers_(workers) {}

template <class Body>
void ActiveSet::each_column(const Body& body) const {
  workers_.run(columns(), weights_.size,
               [&](std::size_t k) { body(k * weights_.column, (k + 1) * weights_.column); });
}

double ActiveSet::slack(const Drift& drift) const {
  return std::max(kMargin * l1_, drift.rounding);
}

double ActiveSet::shift(std::size_t first, std::size_t end, std::span<const double> signs,
                        std::span<const double> g) const {
  if (!project_) return 0;
  double sum = 0;
  double moving = 0;
  for (std::size_t i = first; i < end; ++i) {
    if (signs[i] == 0) continue;
    sum += multiplicity(i) * (g[i] - l1_ * signs[i]);
    moving += multiplicity(i);
  }
  return moving > 0 ? -sum / moving : 0;
}

double ActiveSet::freeing_shift(std::size_t first, std::size_t end, std::span<const double> signs,
                                std::span<const double> g) const {
  if (!project_) return 0;
  double widest = l1_;  // at -widest no term is positive, at +widest none is negative
  for (std::size_t i = first; i < end; ++i) widest = std::max(widest, l1_ + std::abs(g[i]));
  return root_of_rising(-widest, widest, [&](double nu) {
    ValueAndSlope rate;
    for (std::size_t i = first; i < end; ++i) {
      const double pulled = g[i] + nu;
      const bool moves = signs[i] != 0 || std::abs(pulled) > l1_;
      if (!moves) continue;
      const double penalty = signs[i] != 0 ? l1_ * signs[i] : std::copysign(l1_, pulled);
      rate.value += multiplicity(i) * (pulled - penalty);
      rate.slope += multiplicity(i);
      rate.size += multiplicity(i) * (std::abs(g[i]) + std::abs(nu) + l1_);
    }
    return rate;
  });
}

void ActiveSet::derive(std::span<const double> signs, std::span<double> g) const {
  each_column([&](std::size_t first, std::size_t end) {
    const double nu = shift(first, end, signs, g);
    for (std::size_t i = first; i < end; ++i)
      g[i] = signs[i] == 0 || multiplicity(i) == 0 ? 0 : g[i] + nu - l1_ * signs[i];
  });
}

void ActiveSet::linearise(std::span<const double> signs, Eigen::Index first,
                          Eigen::Ref<Eigen::MatrixXd> j) const {
  const auto at = [first](std::size_t i) { return first + static_cast<Eigen::Index>(i); };
  for (std::size_t i = 0; i < weights_.size; ++i) {
    if (signs[i] != 0) continue;
    j.row(at(i)).setZero();
    // The weight does not change, so its column must be zero: elimination with row exchanges would
    // otherwise mix rounding errors of other rows into this one.
    j.col(at(i)).setZero();
  }
  if (!project_) return;
  each_column([&](std::size_t begin, std::size_t end) {
    Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(j.cols());
    double moving = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (signs[i] == 0) continue;
      sum += multiplicity(i) * j.row(at(i));
      moving += multiplicity(i);
    }
    for (std::size_t i = begin; i < end; ++i)
      if (signs[i] != 0 && multiplicity(i) > 0) j.row(at(i)) -= sum / moving;
  });
}

double ActiveSet::distance_to_change(std::span<const double> d, std::span<const double> signs,
                                     const Drift& drift) const {
  const double uniform = weights_.uniform;
  const double extra = slack(drift);
  std::vector<double> least(columns());
  each_column([&](std::size_t first, std::size_t end) {
    const double nu = shift(first, end, signs, drift.g);
    double column = std::numeric_limits<double>::infinity();
    for (std::size_t i = first; i < end; ++i) {
      if (multiplicity(i) == 0) continue;
      column = smaller(column, signs[i] == 0
                                   ? (l1_ + extra - std::abs(drift.g[i] + nu)) / l1_
                                   : (kMargin * uniform + signs[i] * (uniform + d[i])) / uniform);
    }
    least[first / weights_.column] = column;
  });
  double all = std::numeric_limits<double>::infinity();
  for (const double column : least) all = smaller(all, column);
  return all;
}

std::span<const double> ActiveSet::at_rest(std::span<const double> d, std::span<const double> signs,
                                           std::vector<double>& space) const {
  const double zero = -weights_.uniform;
  std::size_t i = 0;
  while (i < d.size() && (signs[i] != 0 || d[i] == zero)) ++i;
  if (i == d.size()) return d;
  space.assign(d.begin(), d.end());
  for (; i < d.size(); ++i)
    if (signs[i] == 0) space[i] = zero;
  return space;
}

void ActiveSet::find_signs(std::span<double> d, std::span<double> signs) const {
  each_column([&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const double a = weights_.uniform + d[i];
      signs[i] = std::abs(a) <= kMargin * weights_.uniform ? 0 : std::copysign(1.0, a);
      if (signs[i] == 0) d[i] = -weights_.uniform;
    }
  });
}

bool ActiveSet::stop(std::span<double> d, std::span<double> signs, const Drift& drift) const {
  const double extra = slack(drift);
  std::vector<char> changes(columns(), 0);
  each_column([&](std::size_t first, std::size_t end) {
    const double nu = shift(first, end, signs, drift.g);
    char& changed = changes[first / weights_.column];
    for (std::size_t i = first; i < end; ++i) {
      if (multiplicity(i) == 0) continue;
      if (signs[i] == 0) {
        if (std::abs(drift.g[i] + nu) > l1_ + 0.5 * extra) changed = 1;
      } else if (signs[i] * (weights_.uniform + d[i]) <= 0) {
        d[i] = -weights_.uniform;
        signs[i] = 0;
        changed = 1;
      }
    }
  });
  return std::find(changes.begin(), changes.end(), 1) != changes.end();
}

void ActiveSet::release(std::span<double> signs, const Drift& drift) const {
  const double extra = slack(drift);
  each_column([&](std::size_t first, std::size_t end) {
    const double nu = freeing_shift(first, end, signs, drift.g);
    for (std::size_t i = first; i < end; ++i) {
      if (signs[i] != 0 || multiplicity(i) == 0) continue;
      const double pulled = drift.g[i] + nu;
      if (std::abs(pulled) > l1_ + 0.5 * extra) signs[i] = std::copysign(1.0, pulled);
    }
  });
}

}  // namespace popflow::scb
