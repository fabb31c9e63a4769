#include "compare/over_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compare/estimate.hpp"
#include "statistics/margins.hpp"
#include "statistics/numbers.hpp"

namespace popflow {

namespace {

/// Returns the number of leading times at which at least two runs (or the single run of an exact
/// rung) are finite throughout.
std::size_t usable_times(const Paths& paths) {
  const std::size_t least = std::min<std::size_t>(2, paths.runs);
  std::size_t times = paths.times;
  while (times > 0 && finite_runs(paths, times).runs < least) --times;
  return times;
}

/// Returns whether the observable has a value; some observables have none in some settings.
bool has_a_value(const std::vector<Moments>& moments) {
  return std::any_of(moments.begin(), moments.end(), [](const Moments& m) {
    return std::any_of(m.mean.begin(), m.mean.end(), [](double x) { return std::isfinite(x); });
  });
}

/// Returns the last save up to which the band lies within the margin.
double agrees_until(const Difference& d, double margin, const std::vector<double>& times) {
  std::size_t first_beyond = 0;
  while (first_beyond < d.difference.size() &&
         (d.nothing || std::abs(d.difference[first_beyond]) + d.band[first_beyond] <= margin))
    ++first_beyond;
  return first_beyond == 0 || times.empty() ? kNoNumber : times[first_beyond - 1];
}

/// Returns the time index at which a pair's difference is reported: where the difference is largest
/// or, if the verdict is *differ*, where it exceeds its band most.
std::size_t reported_time(const Difference& d, Verdict::Kind kind) {
  if (kind != Verdict::Kind::differ) return d.largest;
  std::size_t place = d.largest;
  const auto beyond = [&](std::size_t t) { return std::abs(d.difference[t]) - d.band[t]; };
  for (std::size_t t = 0; t < d.difference.size(); ++t)
    if (beyond(t) > beyond(place) || std::isnan(beyond(place))) place = t;
  return place;
}

/// Smaller number of runs of two rungs, without those of an exact one.
std::size_t fewer_runs(const Paths& first, const Paths& second) {
  return first.exact ? second.runs : second.exact ? first.runs : std::min(first.runs, second.runs);
}

/// Whether the runs alone decide a pair whose difference has the error of an estimated population,
/// too.
bool verdict_without(const Paths& first, const Paths& second, const Difference& d, double margin,
                     const ComparisonOptions& options) {
  return !options.population_errors.empty() &&
         verdict(d, margin, options.level, fewer_runs(first, second),
                 least_runs(first.exact || second.exact, options.level))
                 .kind != Verdict::Kind::undecided;
}

Judgement judge(const Paths& first, const Paths& second, const Difference& d, double margin,
                const ComparisonOptions& options, Workers& workers) {
  Judgement of;
  of.judged = true;
  of.margin = margin;
  of.verdict = verdict(d, margin, options.level, fewer_runs(first, second),
                       least_runs(first.exact || second.exact, options.level));
  // Only the verdict *differ* needs a p-value.
  of.p_value = of.verdict.kind == Verdict::Kind::differ
                   ? p_value_within(first, second, d, margin, options.level, options.seed, workers)
                   : 1;
  if (!options.population_errors.empty() && of.verdict.kind == Verdict::Kind::differ)
    of.p_value = std::max(of.p_value, p_value_of_estimate(d, std::isnan(margin) ? 0 : margin));
  of.until = agrees_until(d, std::isnan(margin) ? 0 : margin, options.times);
  if (d.difference.empty()) return of;
  const std::size_t place = reported_time(d, of.verdict.kind);
  of.difference = d.difference[place];
  of.low = of.difference - d.band[place];
  of.high = of.difference + d.band[place];
  if (!options.times.empty()) of.largest_at = options.times[place];
  return of;
}

/// Returns log max(x, floor). If at least half of the runs are at the floor, the rung counts as at
/// the floor: the few runs above it would make the band infinitely wide.
Paths logarithms(const Paths& of, double floor) {
  Paths logarithms = of;
  for (std::size_t t = 0; t < of.times; ++t) {
    std::size_t known = 0, below = 0;
    for (std::size_t run = 0; run < of.runs; ++run) {
      known += std::isfinite(of.at(run, t)) ? 1 : 0;
      below += of.at(run, t) <= floor ? 1 : 0;
    }
    for (std::size_t run = 0; run < of.runs; ++run) {
      double& x = logarithms.values[run * of.times + t];
      if (!std::isnan(x)) x = std::log(2 * below >= known ? floor : std::max(x, floor));
    }
  }
  return logarithms;
}

/// Index of the first save in the second half of the flow time; all saves if fewer than two lie
/// there.
std::size_t first_late(const std::vector<double>& times) {
  const auto late = static_cast<std::size_t>(
      std::find_if(times.begin(), times.end(), [&](double t) { return 2 * t >= times.back(); }) -
      times.begin());
  return times.size() - late < 2 ? times.size() : late;
}

/// Each run's mean over its times from `late` on, as a single time.
Paths late_means(const Paths& paths, std::size_t late) {
  Paths means{paths.runs, 1, {}, paths.exact};
  for (std::size_t run = 0; run < paths.runs; ++run) {
    // Relative to the first value, so that the mean of equal values is exact.
    const double from = paths.at(run, late);
    double sum = 0;
    for (std::size_t t = late; t < paths.times; ++t) sum += paths.at(run, t) - from;
    means.values.push_back(from + sum / static_cast<double>(paths.times - late));
  }
  return means;
}

/// Makes a pair *differ* if its means over the late times do. Each of the two tests, at single
/// times and over the late ones, gets half of the error. Returns whether the verdict is that of the
/// late times.
bool judge_late(Judgement& of, const Paths& first, const Paths& second,
                const ComparisonOptions& options, Workers& workers) {
  const auto too_few = [](const Paths& paths) { return paths.runs < (paths.exact ? 1U : 2U); };
  if (!of.judged || std::isnan(of.p_value) || too_few(first) || too_few(second)) return false;
  ComparisonOptions half = options;
  half.level = (1 + options.level) / 2;
  half.times.clear();
  const Difference d = difference(first, second, half.level, options.seed, workers);
  const Judgement late = judge(first, second, d, of.margin, half, workers);
  of.p_value = std::min(1.0, 2 * std::min(of.p_value, late.p_value));
  if (std::abs(late.difference) > of.margin)
    of.verdict.runs_needed = std::fmin(of.verdict.runs_needed, late.verdict.runs_needed);
  if (of.verdict.kind != Verdict::Kind::undecided || late.verdict.kind != Verdict::Kind::differ)
    return false;
  of.verdict = late.verdict;
  of.difference = late.difference;
  of.low = late.low;
  of.high = late.high;
  of.largest_at = kNoNumber;
  return true;
}

}  // namespace

double range_of(std::span<const double> values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return high - low > kRounding * std::max(std::abs(low), std::abs(high)) ? high - low : kNoNumber;
}

OverSaves compare_over_time(Question question, const Subject& subject,
                            const std::vector<const Paths*>& paths,
                            const std::vector<Moments>& moments, double margin,
                            const ComparisonOptions& options, Workers& workers) {
  OverSaves over{{}, {}, {question, subject, {}, {}, {}, {}, {}}};
  Statement& statement = over.statement;
  for (const Moments& of : moments) {
    const bool any = !of.mean.empty();
    statement.value.push_back(any ? of.mean.back() : kNoNumber);
    statement.low.push_back(any ? of.mean_low.back() : kNoNumber);
    statement.high.push_back(any ? of.mean_high.back() : kNoNumber);
    statement.stopped.push_back(0);
  }
  const bool judged = has_a_value(moments);
  for (const auto& [i, j] : pairs_of(paths.size())) {
    const std::size_t saves = paths[i]->times;
    const std::size_t times = std::min(usable_times(*paths[i]), usable_times(*paths[j]));
    const Paths first = finite_runs(*paths[i], times), second = finite_runs(*paths[j], times);
    Difference d = difference(first, second, options.level, options.seed, workers);
    const auto moves = [&](std::size_t rung) {
      const std::span<const double> mean = moments[rung].mean;
      return std::isfinite(range_of(mean.first(times)));
    };
    // An observable that had not moved when runs ended early may still move later.
    const bool too_early = times < saves && d.nothing && !moves(i) && !moves(j);
    ComparisonOptions of_pair = options;
    if (!options.differ_in_samples(i, j)) of_pair.population_errors.clear();
    const bool without = verdict_without(first, second, d, margin, of_pair);
    const auto& errors = of_pair.population_errors;
    if (!errors.empty()) add_error(d, sum_of_errors(errors[i], errors[j]), options.level);
    Judgement of = judge(first, second, d, margin, of_pair, workers);
    if (without && of.verdict.kind == Verdict::Kind::undecided)
      of.verdict = undecided(Verdict::Reason::estimated);
    if (times == 0 || too_early) {
      of.verdict = undecided(Verdict::Reason::incomplete);
      of.p_value = kNoNumber;
    }
    of.judged = judged;
    statement.pairs.push_back(of);
    for (auto* values : {&d.difference, &d.error, &d.z, &d.band}) values->resize(saves, kNoNumber);
    over.differences.push_back(std::move(d));
  }
  return over;
}

OverSaves compare_depths(const ObservableInfo& info, const std::vector<const Paths*>& paths,
                         const std::vector<Moments>& means, const ComparisonOptions& options,
                         Workers& workers) {
  std::vector<Paths> logs;
  logs.reserve(paths.size());
  std::vector<const Paths*> of_rungs;
  std::vector<Moments> of_logs;
  for (const Paths* rung : paths) {
    logs.push_back(logarithms(*rung, info.floor));
    of_rungs.push_back(&logs.back());
    of_logs.push_back(moments(logs.back(), options.level));
  }
  ComparisonOptions of_ratios = options;  // relative errors
  for (std::size_t r = 0; r < of_ratios.population_errors.size(); ++r)
    for (std::size_t t = 0; t < means[r].mean.size(); ++t)
      of_ratios.population_errors[r][t] /= std::max(std::abs(means[r].mean[t]), info.floor);
  OverSaves over = compare_over_time(Question::depth, {info.name}, of_rungs, of_logs,
                                     std::log(options.delta_factor), of_ratios, workers);
  over.moments = std::move(of_logs);
  Statement& statement = over.statement;
  for (std::vector<double>* values : {&statement.value, &statement.low, &statement.high})
    for (double& value : *values) value = std::exp(value);
  const std::size_t late = first_late(options.times);
  const auto all_pairs = pairs_of(paths.size());
  for (std::size_t p = 0; p < statement.pairs.size(); ++p) {
    Judgement& of = statement.pairs[p];
    const auto [i, j] = all_pairs[p];
    const auto late_runs = [&](std::size_t rung) {
      return finite_runs(late_means(logs[rung], late), 1);
    };
    const bool by_late = late < options.times.size() && !options.differ_in_samples(i, j) &&
                         !(logs[i].exact && logs[j].exact) &&
                         judge_late(of, late_runs(i), late_runs(j), options, workers);
    for (double* value : {&of.difference, &of.low, &of.high, &of.margin}) *value = std::exp(*value);
    const std::size_t at = reported_time(over.differences[p], of.verdict.kind);
    const auto mean = [&](std::size_t rung) {
      const std::vector<double>& at_saves = means[rung].mean;
      if (!by_late) return at < at_saves.size() ? at_saves[at] : kNoNumber;
      return std::accumulate(at_saves.begin() + static_cast<std::ptrdiff_t>(late), at_saves.end(),
                             0.0);
    };
    of.means_ratio = mean(j) / mean(i);
  }
  return over;
}

}  // namespace popflow
