#include "compare/when.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/margins.hpp"
#include "statistics/medians.hpp"
#include "statistics/shares.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns whether two subjects are the same: the same event, or the same item of a passage.
bool is_same(const Subject& a, const Subject& b) { return a.name == b.name && a.item == b.item; }

void append_items(std::vector<Subject>& to, const std::string& passage, std::size_t items) {
  for (std::size_t i = 0; i < items; ++i)
    to.push_back({passage, static_cast<std::int64_t>(i), items});
}

/// Returns the first-passage times of an event in each run; NaN if it did not happen.
std::vector<double> times_of_event(const DataFile& group, const std::string& name,
                                   std::size_t runs) {
  std::vector<double> first(runs, kNoNumber);
  if (!group.has_dataset("events/kind")) return first;
  const std::vector<std::string> words =
      text::split_words(group.text_attribute("events/kind", "flag_meanings").value_or(""));
  const std::vector<std::int64_t> kinds = group.read("events/kind").integers;
  const std::vector<double> times = group.reals("events/time", kinds.size());
  // Each run has as many slots as there are events.
  for (std::size_t i = 0; i < std::min(kinds.size(), runs * words.size()); ++i) {
    const auto kind = static_cast<std::size_t>(kinds[i]);
    if (kinds[i] < 0 || kind >= words.size() || words[kind] != name) continue;
    double& time = first[i / words.size()];
    time = std::isnan(time) ? times[i] : std::min(time, times[i]);
  }
  return first;
}

/// Returns the times of all items of a passage: runs x items; empty if the rung has no such
/// passage.
std::vector<double> times_of_passage(const DataFile& group, const Subject& of, std::size_t runs) {
  if (!group.has_dataset(of.name)) return {};
  std::vector<double> times = group.read(of.name).values;
  return times.size() == runs * of.items ? times : std::vector<double>();
}

PassageTimes passage_times(const FirstTimes& of, const ComparisonOptions& options) {
  std::vector<double> counted;
  for (const auto& [counts, time] : of.runs)
    if (counts) counted.push_back(time);
  return {std::move(counted), options.times.empty() ? kUnbounded : options.times.back(), of.exact};
}

Share share_of(const FirstTimes& of) {
  Share share{0, 0, of.exact};
  for (const auto& [counts, time] : of.runs) {
    share.of += counts ? 1 : 0;
    share.count += counts && std::isfinite(time) ? 1 : 0;
  }
  return share;
}

/// Returns the times of runs that both rungs have, if run k of one shares its random numbers with
/// run k of the other.
std::vector<std::pair<double, double>> paired(const FirstTimes& first, const FirstTimes& second) {
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t run = 0; run < std::min(first.runs.size(), second.runs.size()); ++run)
    if (first.runs[run].first && second.runs[run].first)
      pairs.emplace_back(first.runs[run].second, second.runs[run].second);
  return pairs;
}

std::size_t fewer(std::size_t first, bool first_exact, std::size_t second, bool second_exact) {
  if (first_exact) return second;
  return second_exact ? first : std::min(first, second);
}

Statement statement_of(Question question, const Subject& subject,
                       const std::vector<FirstTimes>& rungs) {
  Statement statement{question, subject, {}, {}, {}, {}, {}};
  for (const FirstTimes& rung : rungs)
    statement.stopped.push_back(static_cast<std::int64_t>(rung.stopped));
  return statement;
}

constexpr Interval kNoInterval = {kNoNumber, kNoNumber};

/// Appends the next rung's value.
void add_value(Statement& statement, double value, const Interval& interval) {
  statement.value.push_back(value);
  statement.low.push_back(interval.low);
  statement.high.push_back(interval.high);
}

/// Fills in verdict, interval and p-value of a difference.
void judge(Judgement& of, const Intervals& intervals, double level_of_agreement, std::size_t runs,
           bool exact, bool complete, double level) {
  const Interval at = intervals(level);
  of.low = at.low;
  of.high = at.high;
  if (!of.judged) return;
  if (exact) {
    const bool within = std::abs(of.difference) <= of.margin;
    of.verdict.kind = within ? Verdict::Kind::agree : Verdict::Kind::differ;
    of.p_value = within ? 1 : 0;
    return;
  }
  of.p_value = p_value_within(intervals, of.margin);
  of.verdict = complete
                   ? verdict(intervals, of.difference, of.margin, level, level_of_agreement, runs)
                   : undecided(Verdict::Reason::incomplete);
}

}  // namespace

std::vector<Subject> happenings_of(const SystemInfo& system, const Shape& shape) {
  std::vector<Subject> found;
  for (const std::string& event : shape.events) found.push_back({event});
  for (const std::string& passage : shape.passages)
    append_items(found, passage, shape.size_of(passage_info(system, passage).dimensions));
  return found;
}

std::vector<Subject> happenings_in(const DataFile& group) {
  std::vector<Subject> found;
  if (group.has_dataset("events/kind"))
    for (const std::string& event :
         text::split_words(group.text_attribute("events/kind", "flag_meanings").value_or("")))
      if (event != "none") found.push_back({event});
  for (const std::string& passage :
       text::split_words(group.text_attribute("", "passages").value_or(""))) {
    std::size_t items = 1;
    const std::vector<std::string> names = group.dimensions(passage);
    const std::vector<std::size_t> shape = group.shape(passage);
    for (std::size_t i = 0; i < shape.size(); ++i) items *= names[i] == "run" ? 1 : shape[i];
    append_items(found, passage, items);
  }
  return found;
}

std::vector<Subject> together(std::vector<Subject> first, const std::vector<Subject>& second) {
  for (const Subject& subject : second)
    if (std::none_of(first.begin(), first.end(),
                     [&](const Subject& other) { return is_same(subject, other); }))
      first.push_back(subject);
  return first;
}

std::vector<FirstTimes> read_first_times(const DataFile& group,
                                         const std::vector<Subject>& happenings,
                                         const RungRuns& runs, double end) {
  std::vector<FirstTimes> found;
  std::string passage;
  std::vector<double> of_passage;
  const std::size_t number = runs.diverged.size();
  for (const Subject& subject : happenings) {
    std::vector<double> times;
    if (subject.item < 0) {
      times = times_of_event(group, subject.name, number);
    } else {
      if (passage != subject.name) of_passage = times_of_passage(group, subject, number);
      passage = subject.name;
      times.assign(number, kNoNumber);
      for (std::size_t run = 0; run < number && !of_passage.empty(); ++run)
        times[run] = of_passage[run * subject.items + static_cast<std::size_t>(subject.item)];
    }
    found.push_back(first_times(times, runs, end));
  }
  return found;
}

Statement judge_share(const Subject& subject, const std::vector<FirstTimes>& rungs,
                      const ComparisonOptions& options) {
  Statement statement = statement_of(Question::share, subject, rungs);
  std::vector<Share> shares;
  for (const FirstTimes& rung : rungs) {
    shares.push_back(share_of(rung));
    const Share& share = shares.back();
    add_value(statement, share.value(),
              share.of == 0 ? kNoInterval : share.interval(options.level));
  }
  for (const auto& [i, j] : pairs_of(rungs.size())) {
    const Share &first = shares[i], &second = shares[j];
    Judgement of;
    of.judged = first.of > 0 && second.of > 0;
    of.margin = options.delta_share;
    of.difference = second.value() - first.value();
    if (of.judged)
      judge(
          of, [&](double level) { return share_difference(first, second, level); },
          // The test on each side of the margin errs with probability at most 1 - level, and
          // therefore so does their conjunction.
          2 * options.level - 1, fewer(first.of, first.exact, second.of, second.exact),
          first.exact && second.exact, rungs[i].stopped + rungs[j].stopped == 0, options.level);
    statement.pairs.push_back(of);
  }
  return statement;
}

Statement judge_time(const Subject& subject, const std::vector<FirstTimes>& rungs,
                     const ComparisonOptions& options) {
  Statement statement = statement_of(Question::time, subject, rungs);
  std::vector<PassageTimes> times;
  for (const FirstTimes& rung : rungs) {
    times.push_back(passage_times(rung, options));
    add_value(statement, times.back().median(),
              times.back().runs() == 0 ? kNoInterval : times.back().interval(options.level));
  }
  // Without a flow, the margin is relative to the time of the first rung.
  const auto exact =
      std::find_if(rungs.begin(), rungs.end(), [](const FirstTimes& rung) { return rung.exact; });
  const double reference =
      statement.value[exact == rungs.end() ? 0 : static_cast<std::size_t>(exact - rungs.begin())];
  for (const auto& [i, j] : pairs_of(rungs.size())) {
    const PassageTimes &first = times[i], &second = times[j];
    Judgement of;
    if (std::isfinite(reference) && reference > 0) of.margin = options.delta_time * reference;
    of.difference = second.median() - first.median();
    // If both times lie beyond the end, their difference is unknown.
    of.judged = std::isfinite(of.margin) && !std::isnan(of.difference);
    const auto pairs = paired(rungs[i], rungs[j]);
    const bool shared = rungs[i].shares_numbers_with(rungs[j]) && pairs.size() >= 16;
    if (first.runs() > 0 && second.runs() > 0 && !std::isnan(of.difference))
      judge(
          of,
          [&](double level) {
            return shared ? paired_median_difference(pairs, level, options.seed)
                          : median_difference(first, second, level);
          },
          options.level, fewer(first.runs(), first.exact(), second.runs(), second.exact()),
          first.exact() && second.exact(), rungs[i].stopped + rungs[j].stopped == 0, options.level);
    // With enough runs for intervals, an unbounded one is due to events later than the end.
    const auto is_bounded = [&](const PassageTimes& of_rung) {
      return of_rung.runs() > 0 && std::isfinite(of_rung.interval((1 + options.level) / 2).low);
    };
    if (of.verdict.reason == Verdict::Reason::few_runs && is_bounded(first) && is_bounded(second))
      of.verdict.reason = Verdict::Reason::beyond_end;
    statement.pairs.push_back(of);
  }
  return statement;
}

}  // namespace popflow
