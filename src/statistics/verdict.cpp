#include "statistics/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"

namespace popflow {

namespace {

/// Whether the band for Gaussian distributions would decide.
bool would_decide(const Difference& d, double margin) {
  bool within = true, beyond = false;
  for (std::size_t t = 0; t < d.gaussian_band.size(); ++t) {
    const double size = std::abs(d.difference[t]), band = d.gaussian_band[t];
    within = within && size + band <= margin;
    beyond = beyond || size - band > margin;
  }
  return !d.gaussian_band.empty() && (within || beyond);
}

}  // namespace

Verdict undecided(Verdict::Reason reason) {
  Verdict v;
  v.reason = reason;
  v.runs_needed = kNoNumber;
  return v;
}

Verdict verdict(const Difference& d, double margin, double level, std::size_t runs,
                std::size_t least) {
  Verdict v;
  if (std::isnan(margin)) margin = 0;  // along the flow the observable does not change
  bool within = true, beyond = false, outside = false;
  // Few runs may have equal values by chance, for example values of a quantity that jumps.
  const bool believed = d.exact || runs >= least_without_scatter(level);
  bool scatters = false, beyond_by_scatter = false;
  // Number of runs that would decide; follows from the factor by which errors would have to shrink.
  double for_agree = 0, for_differ = kUnbounded;
  for (std::size_t t = 0; t < d.difference.size(); ++t) {
    const double size = std::abs(d.difference[t]);
    // Adding one error suffices at more than half of the times.
    const double width = d.band[t] + d.error[t];
    if (!(size + d.band[t] <= margin)) within = false;
    if (size - d.band[t] > margin) {
      beyond = true;
      if (d.error[t] > 0) beyond_by_scatter = true;
    }
    if (d.error[t] > 0) scatters = true;
    // A difference that may be chance would shrink with the errors.
    const bool certain = size > d.band[t];
    const double shrinks = certain ? width : width + size;
    const double room = certain ? size - margin : -margin;
    const double needed = d.alike[t] * (shrinks / room) * (shrinks / room);
    if (room >= 0) {
      outside = true;
      for_differ = std::min(for_differ, needed);
    } else if (d.error[t] > 0) {
      for_agree = std::max(for_agree, needed);
    }
  }
  if (d.nothing || (within && (scatters || believed))) {
    v.kind = Verdict::Kind::agree;
  } else if (d.exact || (beyond && rejects(d.p_value, level) && (beyond_by_scatter || believed))) {
    v.kind = Verdict::Kind::differ;
  } else if (within || (beyond && rejects(d.p_value, level))) {
    v.reason = Verdict::Reason::no_scatter;
    v.runs_needed = runs < 2 ? kNoNumber : static_cast<double>(least_without_scatter(level));
  } else {
    v.reason = runs < std::max<std::size_t>(2, least) ? Verdict::Reason::few_runs
               : would_decide(d, margin)              ? Verdict::Reason::skewness
                                                      : Verdict::Reason::margin;
    double needed = outside ? for_differ : for_agree;
    if (runs < least && !std::isfinite(needed)) needed = 0;  // unbounded bands
    if (runs < 2) needed = kNoNumber;  // a single run does not show the scatter
    v.runs_needed = std::isfinite(needed)
                        ? std::max({std::ceil(needed * (1 - 1e-9)), static_cast<double>(runs) + 1,
                                    static_cast<double>(least)})
                        : kNoNumber;
  }
  return v;
}

bool rejects(double p_value, double level) { return p_value <= 1 - level + kRounding; }

double smallest_p_value(double m, double n) {
  // The extreme draws repeat one run on either side of the mean, with this probability.
  if (m == 0) return std::pow(n, 1 - n);
  // Exchanging two groups of equal size gives the same distance.
  const double splits = std::lgamma(m + n + 1) - std::lgamma(m + 1) - std::lgamma(n + 1);
  return std::exp(std::log(m == n ? 2.0 : 1.0) - splits);
}

std::size_t least_runs(bool against_exact, double level) {
  std::size_t runs = 2;
  const auto smallest = [&] {
    const auto n = static_cast<double>(runs);
    return smallest_p_value(against_exact ? 0 : n, n);
  };
  while (!rejects(smallest(), level)) ++runs;
  return runs;
}

std::size_t least_without_scatter(double level) {
  constexpr double kShare = 0.1;  // fraction of runs with another value
  return static_cast<std::size_t>(std::ceil(std::log((1 - level) / 2) / std::log1p(-kShare)));
}

}  // namespace popflow
