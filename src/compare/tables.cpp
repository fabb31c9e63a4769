#include "compare/tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

#include "report/told.hpp"
#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/verdict.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using text::digits;
using text::rounded;
using text::with_error;
using told::Rows;

std::string head(const RecordedComparison& of) {
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < of.words().size(); ++r) {
    std::string part = of.words()[r];
    if (!of.exact(r))
      part += " " + std::to_string(of.runs(r)) + (of.runs(r) == 1 ? " run" : " runs");
    if (of.diverged(r) > 0) part += " (" + std::to_string(of.diverged(r)) + " diverged)";
    parts.push_back(part);
  }
  return "\nlearning rate " + shortest(of.learning_rate()) + ", batch size " +
         rounded(of.batch_size()) + ": " + text::join(parts, ", ") + "\n";
}

/// The place in time where the means deviate most from those of the reference.
std::size_t furthest_apart(const RecordedComparison& of, const std::string& name) {
  const std::size_t reference = of.reference();
  const OverTime difference = of.over_time(name + "_difference");
  std::size_t place = 0;
  double most = -1;
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto [first, second] = of.pairs()[p];
    if (first != reference && second != reference) continue;
    for (std::size_t t = 0; t < of.times().size(); ++t)
      if (const double size = std::abs(difference(p, t)); size > most) {
        most = size;
        place = t;
      }
  }
  return place;
}

std::string means(const RecordedComparison& of) {
  Rows rows = {{"observable", "", "t"}};
  for (const std::string& word : of.words()) rows[0].push_back(word);
  for (const std::string& name : of.moving()) {
    const OverTime mean = of.over_time(name + "_mean"), error = of.over_time(name + "_mean_error");
    if (!mean.any_finite()) continue;
    const std::size_t most = furthest_apart(of, name), end = of.times().size() - 1;
    for (const std::size_t t : std::set{most, end}) {
      const bool first = t == most;
      const char* const which = most == end ? "most, end" : first ? "most" : "end";
      std::vector<std::string> row = {first ? name : "", which, rounded(of.times()[t])};
      for (std::size_t r = 0; r < of.words().size(); ++r)
        row.push_back(with_error(mean(r, t), of.exact(r) ? 0 : error(r, t)));
      rows.push_back(row);
    }
  }
  return "\n" + text::columns(rows);
}

/// Pairs whose verdicts are shown: all of three rungs; of more those with sgd, or else with the
/// first.
std::vector<std::size_t> shown_pairs(const RecordedComparison& of) {
  std::vector<std::size_t> shown;
  const std::size_t centre = of.centre();
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto [first, second] = of.pairs()[p];
    if (of.words().size() <= 3 || first == centre || second == centre) shown.push_back(p);
  }
  return shown;
}

/// The largest difference of the means over time, in percent of the range over the flow, where it
/// is certain that there is one; else nothing.
std::string certain_difference(const RecordedComparison& of, const std::string& name,
                               std::size_t pair) {
  constexpr double kOfSolvers = 1e-6;  // of the range: what two integrations may differ by
  const double range = of.range(name);
  const auto [first, second] = of.pairs()[pair];
  const OverTime difference = of.over_time(name + "_difference");
  double most = 0;
  for (std::size_t t = 0; t < of.times().size(); ++t)
    most = std::max(most, std::abs(difference(pair, t)));
  const bool certain = of.exact(first) && of.exact(second)
                           ? most > kOfSolvers * range
                           : rejects(of.of_pairs(name + "_p_value")[pair], of.level());
  if (!certain || !(range > 0)) return "";
  const double percent = 100 * most / range;
  return (percent < 99.5 ? digits(percent, 2) : rounded(std::round(percent))) + "%";
}

/// What would decide.
std::string open_verdict(const RecordedComparison& of, const std::string& name, std::size_t pair) {
  const double needed = of.of_pairs(name + "_runs_needed")[pair];
  if (!std::isfinite(needed) || needed > 1e7)
    return of.ended_early({name}, pair) ? "undecided" : "too few runs";
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(needed)) - 1));
  char number[32];
  std::snprintf(number, sizeof number, "%.0f", std::ceil(needed / unit) * unit);
  return "needs ~" + std::string(number) + " runs";
}

/// Agreement within the margin is one statement, and that there is a difference another.
std::string verdict_cell(const RecordedComparison& of, const std::string& name, std::size_t pair) {
  const std::string word = of.verdict(name, pair), size = certain_difference(of, name, pair);
  if (word.empty()) return "-";
  if (word == "differ" && !size.empty()) return word + " by " + size;
  if (word == "differ") return of.diverge_otherwise(pair) ? "differ in diverging" : word;
  return (word == "agree" ? word : open_verdict(of, name, pair)) +
         (size.empty() ? "" : ", differs by " + size);
}

std::string verdicts(const RecordedComparison& of) {
  const std::vector<std::size_t> shown = shown_pairs(of);
  if (shown.empty()) return "";
  Rows rows = {{"means, in % of the range"}};
  for (const std::size_t p : shown) rows[0].push_back(of.name_of(p));
  for (const std::string& name : of.moving()) {
    std::vector<std::string> row = {name};
    for (const std::size_t p : shown) row.push_back(verdict_cell(of, name, p));
    if (std::any_of(row.begin() + 1, row.end(), [](const auto& word) { return word != "-"; }))
      rows.push_back(row);
  }
  return "\n" + text::columns(rows);
}

/// Standard deviations, with the test of equal laws, at the end.
std::string spreads(const RecordedComparison& of) {
  std::vector<std::size_t> noisy, shown;
  for (std::size_t r = 0; r < of.words().size(); ++r)
    if (!of.exact(r)) noisy.push_back(r);
  for (const std::size_t p : shown_pairs(of))
    if (!of.exact(of.pairs()[p].first) && !of.exact(of.pairs()[p].second)) shown.push_back(p);
  if (noisy.empty()) return "";
  const std::size_t end = of.times().size() - 1;
  Rows rows = {{"standard deviation at the end"}};
  for (const std::size_t r : noisy) rows[0].push_back(of.words()[r]);
  for (const std::size_t p : shown) rows[0].push_back("equal law " + of.name_of(p));
  for (const std::string& name : of.moving()) {
    const OverTime deviation = of.over_time(name + "_std"), low = of.over_time(name + "_std_low"),
                   high = of.over_time(name + "_std_high");
    std::vector<std::string> row = {name};
    bool any = false;
    for (const std::size_t r : noisy) {
      const double here = deviation(r, end);
      any = any || std::isfinite(here);
      row.push_back(std::isfinite(here) ? digits(here) + " [" + digits(low(r, end)) + ", " +
                                              digits(high(r, end)) + "]"
                                        : "-");
    }
    const std::vector<double> p_value = of.of_pairs(name + "_energy_p_value");
    for (const std::size_t p : shown)
      row.push_back(std::isfinite(p_value[p]) ? "p = " + digits(p_value[p]) : "-");
    if (any) rows.push_back(row);
  }
  return rows.size() > 1 ? "\n" + text::columns(rows) : "";
}

/// Does the mean of an invariant move, beyond what its error allows? That of a size, which is never
/// negative, does if anything moves.
std::string drift_verdict(const RecordedComparison& of, std::size_t rung, double drift,
                          double error, bool size) {
  if (of.exact(rung)) return "";  // that it is kept is how it was chosen
  const double degrees = of.counted(rung) - 1;
  if (!(error > 0) || degrees < 1) return "";
  if (std::abs(drift) <= kKept) return ": kept";
  if (size) return "";
  const double z = std::abs(drift) / error;
  return z > student_quantile(of.level(), degrees) ? ": drifts, z = " + digits(z, 2)
                                                   : ": no drift shown";
}

/// What the flow conserves: its systematic drift, and its fluctuation.
std::string invariants(const RecordedComparison& of) {
  const std::size_t end = of.times().size() - 1;
  Rows rows = {{"invariant, change to the end"}};
  for (const std::string& word : of.words()) rows[0].push_back(word);
  for (const std::string& name : of.kept()) {
    const OverTime mean = of.over_time(name + "_mean"), error = of.over_time(name + "_mean_error"),
                   deviation = of.over_time(name + "_std");
    const bool zero = of.kept_at_zero(name);
    std::vector<std::string> row = {name};
    for (std::size_t r = 0; r < of.words().size(); ++r) {
      const double drift = mean(r, end) - (zero ? 0 : mean(r, 0));
      std::string cell = with_error(drift, of.exact(r) ? 0 : error(r, end));
      const double spread = deviation(r, end);
      if (!of.exact(r) && std::isfinite(spread)) cell += ", sd " + digits(spread);
      row.push_back(cell + drift_verdict(of, r, drift, error(r, end), zero));
    }
    rows.push_back(row);
  }
  return rows.size() > 1 ? "\n" + text::columns(rows) : "";
}

}  // namespace

std::string describe_tables(const RecordedComparison& of) {
  return head(of) + means(of) + verdicts(of) + spreads(of) + invariants(of);
}

}  // namespace popflow
