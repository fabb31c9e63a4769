#include "compare/tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

#include "compare/narrow.hpp"
#include "report/contents.hpp"
#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/verdict.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

using contents::Rows;
using text::digits;
using text::rounded;
using text::with_error;

/// Narrowest columns of cells with words, which are wrapped, and of cells with numbers.
constexpr std::size_t kNarrowestCell = 20, kWidestNumber = 44;

std::string head(const RecordedComparison& of) {
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < of.words().size(); ++r) {
    std::string part = of.words()[r];
    if (!of.exact(r))
      part += " " + std::to_string(of.runs(r)) + (of.runs(r) == 1 ? " run" : " runs");
    if (of.diverged(r) > 0) part += " (" + std::to_string(of.diverged(r)) + " diverged)";
    parts.push_back(part);
  }
  bool all_external = true;
  for (std::size_t r = 0; r < of.words().size(); ++r)
    all_external = all_external && of.is_external(r);
  const std::string setting = all_external ? ""
                                           : "learning rate " + shortest(of.learning_rate()) +
                                                 ", batch size " + rounded(of.batch_size()) + ": ";
  return "\n" + narrow_paragraph(setting + text::join(parts, ", "));
}

/// Returns the time index at which the mean deviates most from that of the reference.
std::size_t time_of_largest_difference(const RecordedComparison& of, const std::string& name) {
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
    const std::size_t most = time_of_largest_difference(of, name), end = of.times().size() - 1;
    for (const std::size_t t : std::set{most, end}) {
      const bool first = t == most;
      const char* const which = most == end ? "most, end" : first ? "most" : "end";
      std::vector<std::string> row = {first ? name : "", which, rounded(of.times()[t])};
      for (std::size_t r = 0; r < of.words().size(); ++r)
        row.push_back(with_error(mean(r, t), of.exact(r) ? 0 : error(r, t)));
      rows.push_back(row);
    }
  }
  return narrow_table(rows, 3, kWidestNumber);
}

/// Returns the pairs whose verdicts are shown: all pairs of up to three rungs, otherwise those with
/// sgd or, without sgd, those with the first rung.
std::vector<std::size_t> pairs_to_show(const RecordedComparison& of) {
  std::vector<std::size_t> shown;
  const std::size_t centre = of.centre();
  for (std::size_t p = 0; p < of.pairs().size(); ++p) {
    const auto [first, second] = of.pairs()[p];
    if (of.words().size() <= 3 || first == centre || second == centre) shown.push_back(p);
  }
  return shown;
}

/// Returns the largest difference of the means over time, in percent of the range over the flow, if
/// it is significant; otherwise nothing.
std::string significant_difference(const RecordedComparison& of, const std::string& name,
                                   std::size_t pair) {
  constexpr double kOfSolvers = 1e-6;  // part of the range: difference of two integrations
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

/// Describes what would decide an open verdict.
std::string open_verdict(const RecordedComparison& of, const Statement& statement,
                         std::size_t pair) {
  const Judgement& judgement = statement.pairs[pair];
  const double needed = judgement.verdict.runs_needed;
  if (!std::isfinite(needed) || needed > 1e7) {
    const bool over_time =
        statement.question == Question::range || statement.question == Question::depth;
    const bool corrected =
        judgement.corrected > judgement.p_value && rejects(judgement.p_value, of.level());
    using Reason = Verdict::Reason;
    if (corrected) return "undecided among so many tests";
    if (judgement.verdict.reason == Reason::skewness) return "too few skewed runs";
    if (judgement.verdict.reason == Reason::estimated) return "undecided, estimated";
    if (judgement.verdict.reason == Reason::beyond_end)
      return "undecided, too many later than the end";
    if (judgement.verdict.reason == Reason::incomplete && !over_time)
      return "undecided, runs stopped before";
    return over_time && of.ended_early({statement.subject.name}, pair) ? "undecided"
                                                                       : "too few runs";
  }
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(needed)) - 1));
  char number[32];
  std::snprintf(number, sizeof number, "%.0f", std::ceil(needed / unit) * unit);
  const char* const why = judgement.verdict.reason == Verdict::Reason::skewness ? ", may be skewed"
                          : judgement.verdict.reason == Verdict::Reason::no_scatter
                              ? ", all are alike"
                              : "";
  return "needs ~" + std::string(number) + " runs" + why;
}

/// Returns "[low, high]", in units of `unit`.
std::string ends_of(double low, double high, double unit = 1) {
  return "[" + digits(low / unit, 2) + ", " + digits(high / unit, 2) + "]";
}

/// Returns the size of the judged quantity, with its interval unless the rungs agree.
std::string size_of(const RecordedComparison& of, const Statement& statement, std::size_t pair) {
  const Judgement& j = statement.pairs[pair];
  if (statement.question == Question::range)
    return significant_difference(of, statement.subject.name, pair);
  const bool agree = j.judged && j.verdict.kind == Verdict::Kind::agree;
  if (!std::isfinite(j.difference)) return "";
  const bool exact = of.exact(of.pairs()[pair].first) && of.exact(of.pairs()[pair].second);
  const auto with = [&](double unit, const char* named) {
    return digits(j.difference / unit, 2) + named +
           (exact || agree ? "" : " " + ends_of(j.low, j.high, unit));
  };
  switch (statement.question) {
    case Question::depth:
      if (agree) return "";
      return "x " + with(1, "") + (j.until > 0 ? ", agree until t = " + rounded(j.until) : "");
    case Question::share:
      return agree ? "" : with(0.01, "% of runs");
    default:
      // In percent of the time to which the margin is relative.
      return std::isfinite(j.margin) ? with(0.01 * j.margin / of.margin("delta_time"), "%")
                                     : with(1, "");
  }
}

/// Returns the cell of a verdict. Agreement within the margin is one statement; the existence of a
/// difference is another.
std::string verdict_cell(const RecordedComparison& of, const Statement& statement,
                         std::size_t pair) {
  const Judgement& judgement = statement.pairs[pair];
  const std::string size = size_of(of, statement, pair);
  const bool range = statement.question == Question::range;
  if (!judgement.judged) return range || size.empty() ? "-" : size;
  switch (judgement.verdict.kind) {
    case Verdict::Kind::differ:
      if (of.divergence_differs(pair))
        return "differ in diverging" +
               (size.empty() ? "" : (range ? ", differs by " : ", ") + size);
      return size.empty() ? "differ" : std::string("differ") + (range ? " by " : ", ") + size;
    case Verdict::Kind::agree:
      return "agree" + (size.empty() ? "" : (range ? ", differs by " : ", ") + size);
    default:
      return open_verdict(of, statement, pair) +
             (size.empty() ? "" : (range ? ", differs by " : ", ") + size);
  }
}

/// Returns the name of a question in the table.
std::string question_name(Question question) {
  switch (question) {
    case Question::range:
      return "mean";
    case Question::depth:
      return "geometric mean";
    case Question::share:
      return "share of runs";
    default:
      return "median time";
  }
}

std::string name_of(const Subject& subject) {
  return subject.name + (subject.item < 0 ? "" : "[" + std::to_string(subject.item) + "]");
}

/// Number of items of a passage that get their own rows.
constexpr std::size_t kMostItems = 6;

/// Counts the verdicts of a passage with many items.
std::string counted_cell(const RecordedComparison& of, const Statement& like, std::size_t pair) {
  std::vector<std::uint64_t> counts(verdict_words.size());
  for (const Statement& statement : of.statements())
    if (statement.question == like.question && statement.subject.name == like.subject.name &&
        statement.pairs[pair].judged)
      ++counts[static_cast<std::size_t>(statement.pairs[pair].verdict.kind)];
  return text::counted(counts, verdict_words);
}

std::string verdicts(const RecordedComparison& of) {
  const std::vector<std::size_t> shown = pairs_to_show(of);
  if (shown.empty()) return "";
  Rows rows = {{"verdict", ""}};
  for (const std::size_t p : shown) rows[0].push_back(of.name_of(p));
  std::string before;
  for (const Statement& statement : of.statements()) {
    const Subject& subject = statement.subject;
    const bool many = subject.items > kMostItems;
    if (many && subject.item > 0) continue;
    const std::string name =
        many ? subject.name + ", " + std::to_string(subject.items) + " items" : name_of(subject);
    std::vector<std::string> row = {name == before ? "" : name, question_name(statement.question)};
    for (const std::size_t p : shown)
      row.push_back(many ? counted_cell(of, statement, p) : verdict_cell(of, statement, p));
    if (std::all_of(row.begin() + 2, row.end(),
                    [](const auto& word) { return word == "-" || word.empty(); }))
      continue;
    rows.push_back(row);
    before = name;
  }
  return rows.size() > 1 ? narrow_table(rows, 2, kNarrowestCell) : "";
}

/// Returns the table of geometric means at the end.
std::string depths(const RecordedComparison& of) {
  Rows rows = {{"geometric mean at the end"}};
  for (const std::string& word : of.words()) rows[0].push_back(word);
  for (const Statement& statement : of.statements()) {
    if (statement.question != Question::depth) continue;
    std::vector<std::string> row = {statement.subject.name};
    for (std::size_t r = 0; r < of.words().size(); ++r) {
      const double value = statement.value[r];
      std::string cell = std::isfinite(value) ? digits(value) : "-";
      if (std::isfinite(statement.low[r]) && !of.exact(r))
        cell += " " + ends_of(statement.low[r], statement.high[r]);
      row.push_back(cell);
    }
    if (std::any_of(row.begin() + 1, row.end(), [](const auto& cell) { return cell != "-"; }))
      rows.push_back(row);
  }
  return rows.size() > 1 ? narrow_table(rows, 1, kWidestNumber) : "";
}

/// Returns the median time over all runs of a rung, and the number of runs that have the event.
std::string time_of(const RecordedComparison& of, const Statement& share, const Statement& time,
                    std::size_t rung) {
  const double median = time.value[rung], end = of.times().back();
  std::string cell = std::isfinite(median) ? digits(median, 4)
                     : std::isnan(median)  ? "-"
                                           : "later than t = " + rounded(end);
  if (of.exact(rung)) return cell;
  if (std::isfinite(time.low[rung]) && std::isfinite(median))
    cell += " [" + digits(time.low[rung], 4) + ", " +
            (std::isfinite(time.high[rung]) ? digits(time.high[rung], 4) : "later") + "]";
  const double counted = of.counted(rung) - static_cast<double>(time.stopped[rung]);
  if (counted > 0)
    cell += ", " + rounded(std::round(share.value[rung] * counted)) + " of " + rounded(counted);
  if (time.stopped[rung] > 0) cell += ", " + std::to_string(time.stopped[rung]) + " stopped before";
  if (of.diverged(rung) > 0) cell += ", " + std::to_string(of.diverged(rung)) + " diverged";
  return cell;
}

/// Returns the table of event times.
std::string happenings(const RecordedComparison& of) {
  Rows rows = {{"median time, runs that have it"}};
  for (const std::string& word : of.words()) rows[0].push_back(word);
  const std::vector<Statement>& all = of.statements();
  for (std::size_t s = 0; s + 1 < all.size(); ++s) {
    // The row on the time follows the row on the fraction.
    if (all[s].question != Question::share || all[s].subject.items > kMostItems) continue;
    std::vector<std::string> row = {name_of(all[s].subject)};
    for (std::size_t r = 0; r < of.words().size(); ++r)
      row.push_back(time_of(of, all[s], all[s + 1], r));
    rows.push_back(row);
  }
  return rows.size() > 1 ? narrow_table(rows, 1, kNarrowestCell) : "";
}

/// Returns the table of standard deviations at the end, with the test of equal distributions.
std::string spreads(const RecordedComparison& of) {
  std::vector<std::size_t> noisy, shown;
  for (std::size_t r = 0; r < of.words().size(); ++r)
    if (!of.exact(r)) noisy.push_back(r);
  for (const std::size_t p : pairs_to_show(of))
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
      row.push_back(std::isfinite(here) ? digits(here) + " " + ends_of(low(r, end), high(r, end))
                                        : "-");
    }
    const std::vector<double> p_value = of.of_pairs(name + "_energy_p_value");
    for (const std::size_t p : shown)
      row.push_back(std::isfinite(p_value[p]) ? "p = " + digits(p_value[p]) : "-");
    if (any) rows.push_back(row);
  }
  return rows.size() > 1 ? narrow_table(rows, 1, kWidestNumber) : "";
}

/// Describes whether the mean of an invariant moves by more than its error. The mean of a
/// magnitude, which is never negative, moves as soon as any entry does.
std::string drift_verdict(const RecordedComparison& of, std::size_t rung, double drift,
                          double error, bool size) {
  if (of.exact(rung)) return "";  // conserved by choice of the invariants
  const double degrees = of.counted(rung) - 1;
  if (!(error > 0) || degrees < 1) return "";
  if (std::abs(drift) <= kKept) return ": kept";
  if (size) return "";
  const double z = std::abs(drift) / error;
  return z > student_quantile(of.level(), degrees) ? ": drifts, z = " + digits(z, 2)
                                                   : ": no drift shown";
}

/// Returns the table of the flow's invariants: systematic drift and fluctuation.
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
  return rows.size() > 1 ? narrow_table(rows, 1, kWidestNumber) : "";
}

}  // namespace

std::string describe_tables(const RecordedComparison& of) {
  return head(of) + means(of) + depths(of) + happenings(of) + verdicts(of) + spreads(of) +
         invariants(of);
}

}  // namespace popflow
