#include "statistics/margins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/numbers.hpp"

namespace popflow {

double p_value_within(const Paths& first, const Paths& second, const Difference& d, double margin,
                      double level, std::uint64_t seed, Workers& workers) {
  if (std::isnan(margin)) margin = 0;
  const auto beyond = [&](double apart) { return std::abs(apart) > margin; };
  if (first.exact && second.exact)
    return !d.nothing && std::any_of(d.difference.begin(), d.difference.end(), beyond) ? 0 : 1;
  if (margin == 0) return d.p_value;
  Paths nearer = second;
  for (std::size_t run = 0; run < nearer.runs; ++run)
    for (std::size_t t = 0; t < nearer.times; ++t)
      nearer.values[run * nearer.times + t] -= std::clamp(d.difference[t], -margin, margin);
  return difference(first, nearer, level, seed, workers).p_value;
}

double p_value_within(const Intervals& intervals, double margin) {
  const auto lies_beyond = [&](double error) {
    const Interval at = intervals(1 - error);
    return at.low > margin || at.high < -margin;
  };
  constexpr double kLeast = 1e-12;
  double low = std::log(kLeast), high = 0;
  if (!lies_beyond(std::exp(-1e-9))) return 1;
  if (lies_beyond(kLeast)) return kLeast;
  while (high - low > 1e-6) {
    const double middle = 0.5 * (low + high);
    (lies_beyond(std::exp(middle)) ? high : low) = middle;
  }
  return std::exp(high);
}

Verdict verdict(const Intervals& intervals, double difference, double margin, double level,
                double level_of_agreement, std::size_t runs) {
  const Interval agreeing = intervals(level_of_agreement), telling = intervals(level);
  if (agreeing.low >= -margin && agreeing.high <= margin) return {Verdict::Kind::agree};
  if (telling.low > margin || telling.high < -margin) return {Verdict::Kind::differ};
  // The width of intervals scales as one over the root of the number of runs.
  const double size = std::abs(difference);
  const Interval& at = size < margin ? agreeing : telling;
  const double width = size < margin    ? std::max(at.high - difference, difference - at.low)
                       : difference > 0 ? difference - at.low
                                        : at.high - difference;
  const double shrinks = width / std::abs(size - margin);
  const double needed = static_cast<double>(runs) * shrinks * shrinks;
  Verdict v = undecided(std::isfinite(width) ? Verdict::Reason::margin : Verdict::Reason::few_runs);
  if (std::isfinite(needed))
    v.runs_needed = std::max(std::ceil(needed), static_cast<double>(runs) + 1);
  return v;
}

std::vector<MemberOfFamily> corrected_by_holm(const std::vector<MemberOfFamily>& family) {
  std::vector<double> least;
  least.reserve(family.size());
  for (const MemberOfFamily& member : family)
    least.push_back(member.p_values.empty()
                        ? 1
                        : static_cast<double>(member.p_values.size()) *
                              *std::min_element(member.p_values.begin(), member.p_values.end()));
  std::vector<std::size_t> order(family.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return least[a] < least[b]; });
  std::vector<MemberOfFamily> corrected = family;
  double before = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    MemberOfFamily& member = corrected[order[rank]];
    const auto left = static_cast<double>(order.size() - rank);
    const double factor = left * static_cast<double>(member.p_values.size());
    for (double& p : member.p_values) p = std::min(1.0, std::max(before, factor * p));
    before = std::max(before, left * least[order[rank]]);
  }
  return corrected;
}

}  // namespace popflow
