#include "compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "compare/estimate.hpp"
#include "compare/over_time.hpp"
#include "compare/when.hpp"
#include "engine/described.hpp"
#include "engine/specs.hpp"
#include "engine/status.hpp"
#include "statistics/distributions.hpp"
#include "statistics/numbers.hpp"
#include "statistics/order_fit.hpp"

namespace popflow {

namespace {

std::vector<std::string> words_of(const Ladder& ladder) {
  std::vector<std::string> words;
  for (const Rung& rung : ladder.rungs) words.push_back(rung.word);
  return words;
}

std::vector<double> rates_of(const std::vector<Ladder>& ladders) {
  std::vector<double> rates(ladders.size());
  std::transform(ladders.begin(), ladders.end(), rates.begin(),
                 [](const Ladder& ladder) { return ladder.learning_rate; });
  return rates;
}

/// Makes the coordinate variable `rung` with its words.
DimensionSpec rung_dimension(const std::vector<std::string>& words) {
  DimensionSpec d = places("rung", words.size(), "rung; the words are in flag_meanings",
                           DimensionSpec::Coordinate::flags);
  for (Attribute& attribute : flag_attributes(words)) d.attributes.push_back(std::move(attribute));
  return d;
}

VariableSpec pair_member(const std::string& name, const std::string& meaning,
                         const std::vector<std::string>& words, std::size_t pairs, bool first) {
  VariableSpec v = flags(name, {"pair"}, meaning, words);
  std::vector<std::int8_t> values;
  const auto all = pairs_of(words.size());
  for (std::size_t p = 0; p < pairs; ++p)
    values.push_back(static_cast<std::int8_t>(first ? all[p].first : all[p].second));
  v.data = std::move(values);
  return v;
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(std::size_t rungs) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t j = 1; j < rungs; ++j)
    for (std::size_t i = 0; i < j; ++i) pairs.emplace_back(i, j);
  return pairs;
}

std::size_t RungRuns::left_out() const {
  return static_cast<std::size_t>(std::count(diverged.begin(), diverged.end(), true));
}

Paths RungRuns::paths(std::vector<double> values, const std::vector<double>& times) const {
  const double rounding = kSameTime * std::abs(times.back());
  Paths paths{diverged.size() - (exact ? 0 : left_out()), times.size(), std::move(values), exact};
  auto row = paths.values.begin();
  for (std::size_t run = 0; run < diverged.size(); ++run) {
    if (!exact && diverged[run]) continue;
    const auto first = paths.values.begin() + static_cast<std::ptrdiff_t>(run * times.size());
    if (row != first) std::copy_n(first, times.size(), row);
    for (std::size_t t = 0; t < times.size(); ++t, ++row)
      if (times[t] > stop[run] + rounding) *row = kNoNumber;
  }
  paths.values.erase(row, paths.values.end());
  return paths;
}

RungRuns read_runs(const DataFile& group, std::size_t runs, bool exact,
                   const std::vector<double>& times) {
  RungRuns result{exact, std::vector<bool>(runs, false),
                  std::vector<double>(runs, std::numeric_limits<double>::infinity())};
  if (exact) {
    // A single run that stopped early has the time of its stop in place of a planned one.
    const std::vector<double> own = group.reals("time", times.size());
    for (std::size_t t = times.size(); t-- > 0;)
      if (own[t] < times[t] - kSameTime * std::abs(times.back())) result.stop.front() = own[t];
    result.diverged.front() =
        group.text_attribute("", "status").value_or("") == status_word(Status::diverged);
    return result;
  }
  const std::vector<std::int64_t> status = group.read("status").integers;
  if (status.size() != runs)
    throw InputError(group.path() +
                     " is damaged: the shape of 'status' does not match the number of runs");
  for (std::size_t run = 0; run < runs; ++run)
    result.diverged[run] = is(status[run], Status::diverged);
  result.stop = group.reals("stop_time", runs);
  return result;
}

Paths read_observable(const DataFile& group, const std::string& name, const RungRuns& runs,
                      const std::vector<double>& times) {
  std::vector<std::size_t> shape = {times.size()};
  if (!runs.exact) shape.insert(shape.begin(), runs.diverged.size());
  if (group.shape(name) != shape)
    throw InputError(group.path() + " is damaged: '" + name + "' has the wrong shape");
  return runs.paths(group.read(name, shape).values, times);
}

FirstTimes first_times(const std::vector<double>& times, const RungRuns& runs, double end) {
  FirstTimes found{{}, 0, runs.exact};
  const double rounding = kSameTime * std::abs(end);
  for (std::size_t run = 0; run < times.size(); ++run) {
    const bool came = std::isfinite(times[run]);
    const bool left_out = runs.diverged[run] && (!runs.exact || !came);
    const bool stopped = !came && !left_out && runs.stop[run] < end - rounding;
    found.stopped += stopped ? 1 : 0;
    found.runs.emplace_back(!left_out && !stopped, came ? times[run] : kUnbounded);
  }
  return found;
}

RungPaths read_paths(const DataFile& group, const Rung& rung,
                     const std::vector<Subject>& happenings) {
  const Plan& plan = rung.experiment->plan;
  const RungRuns runs = read_runs(group, plan.ensemble.runs, rung.exact(), plan.schedule());
  RungPaths result{plan.ensemble.runs, runs.left_out(), {}};
  for (const ObservableInfo& observable : rung.experiment->system->info().observables)
    result.observables.push_back(read_observable(group, observable.name, runs, plan.schedule()));
  result.happenings = read_first_times(group, happenings, runs, plan.schedule().back());
  return result;
}

namespace {

std::vector<double> finite_at_end(const Paths& paths) {
  std::vector<double> values;
  for (std::size_t run = 0; run < paths.runs; ++run)
    if (const double x = paths.at(run, paths.times - 1); std::isfinite(x)) values.push_back(x);
  return values;
}

}  // namespace

ComparisonOptions comparison_options(const Parameters& options) {
  return {.delta = options.real("delta"),
          .level = options.real("level"),
          .seed = static_cast<std::uint64_t>(options.integer("seed")),
          .delta_time = options.real("delta-time"),
          .delta_share = options.real("delta-share"),
          .delta_factor = options.real("delta-factor")};
}

double divergence_p_value(const Divergence& first, const Divergence& second) {
  const std::size_t times_first = first.exact ? second.runs : 1;
  const std::size_t times_second = second.exact ? first.runs : 1;
  return proportions_p_value(times_first * first.diverged, times_first * first.runs,
                             times_second * second.diverged, times_second * second.runs);
}

std::vector<bool> divergence_differs(const std::vector<Divergence>& rungs, double level) {
  std::vector<bool> found;
  for (const auto& [i, j] : pairs_of(rungs.size()))
    found.push_back(rejects(divergence_p_value(rungs[i], rungs[j]), level));
  return found;
}

ObservableComparison compare_observable(const ObservableInfo& info,
                                        const std::vector<const Paths*>& paths,
                                        const ComparisonOptions& options, Workers& workers) {
  ObservableComparison one;
  one.name = info.name;
  one.invariant = std::find(options.invariants.begin(), options.invariants.end(), info.name) !=
                  options.invariants.end();
  for (const Paths* rung : paths) {
    one.moments.push_back(moments(*rung, options.level));
    allow_for_skewness(one.moments.back(), *rung, options.level, options.seed, workers);
  }
  // Without a flow, the range is that of the first rung's mean.
  const auto exact =
      std::find_if(paths.begin(), paths.end(), [](const Paths* rung) { return rung->exact; });
  const auto reference = exact == paths.end() ? 0 : exact - paths.begin();
  one.margin = one.invariant ? kNoNumber
                             : options.delta *
                                   range_of(one.moments[static_cast<std::size_t>(reference)].mean);
  OverSaves range = compare_over_time(Question::range, {info.name}, paths, one.moments, one.margin,
                                      options, workers);
  one.differences = std::move(range.differences);
  for (const auto& [i, j] : pairs_of(paths.size()))
    one.energy.push_back(
        paths[i]->exact || paths[j]->exact
            ? EnergyDistance{kNoNumber, kNoNumber}
            : energy_distance(finite_at_end(*paths[i]), finite_at_end(*paths[j]), options.seed));
  if (one.invariant) return one;
  one.statements.push_back(std::move(range.statement));
  if (!(info.floor > 0)) return one;
  OverSaves depth = compare_depths(info, paths, one.moments, options, workers);
  one.logarithm = {std::move(depth.moments), std::move(depth.differences)};
  one.statements.push_back(std::move(depth.statement));
  return one;
}

namespace {

/// Whether the error of the statement's subject as an estimate is known, and so is in its verdict.
bool has_error(const Statement& statement, const SystemInfo& info, const EstimateErrors& errors) {
  for (std::size_t o = 0; o < info.observables.size(); ++o)
    if (info.observables[o].name == statement.subject.name) return !errors[o].empty();
  return false;
}

}  // namespace

std::vector<Statement> judge_all(const RungNumbers& rungs, const SystemInfo& info,
                                 const std::vector<Subject>& happenings,
                                 const ComparisonOptions& options, Workers& workers,
                                 const std::function<void(ObservableComparison)>& each) {
  std::vector<Statement> statements;
  const EstimateErrors errors = options.fresh.empty() ? EstimateErrors(info.observables.size())
                                                      : population_errors(info, rungs);
  ComparisonOptions own = options;
  for (std::size_t o = 0; o < info.observables.size(); ++o) {
    own.population_errors = errors[o];
    ObservableComparison one =
        compare_observable(info.observables[o], rungs.paths(o), own, workers);
    std::move(one.statements.begin(), one.statements.end(), std::back_inserter(statements));
    one.statements.clear();
    each(std::move(one));
  }
  for (std::size_t h = 0; h < happenings.size(); ++h) {
    const std::vector<FirstTimes> times = rungs.first_times(h);
    statements.push_back(judge_share(happenings[h], times, options));
    statements.push_back(judge_time(happenings[h], times, options));
  }
  // The samples may be the reason for any difference whose error as an estimate is not known.
  const auto pairs = pairs_of(rungs.divergences.size());
  for (Statement& statement : statements)
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      Verdict& verdict = statement.pairs[p].verdict;
      if (options.differ_in_samples(pairs[p].first, pairs[p].second) &&
          verdict.kind == Verdict::Kind::differ && !has_error(statement, info, errors))
        verdict = undecided(Verdict::Reason::estimated);
    }
  settle(statements, divergence_differs(rungs.divergences, options.level), options.level);
  return statements;
}

Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info,
                         const ComparisonOptions& options, Workers& workers,
                         const std::vector<Subject>& happenings) {
  Comparison c;
  c.pairs = pairs_of(rungs.size());
  RungNumbers numbers;
  for (const RungPaths& rung : rungs) {
    c.runs.push_back(rung.runs);
    c.diverged.push_back(rung.diverged);
    const bool exact = !rung.observables.empty() && rung.observables.front().exact;
    numbers.divergences.push_back({rung.diverged, rung.runs, exact});
  }
  numbers.paths = [&](std::size_t observable) {
    std::vector<const Paths*> paths;
    paths.reserve(rungs.size());
    for (const RungPaths& rung : rungs) paths.push_back(&rung.observables[observable]);
    return paths;
  };
  numbers.first_times = [&](std::size_t happening) {
    std::vector<FirstTimes> times;
    times.reserve(rungs.size());
    for (const RungPaths& rung : rungs) times.push_back(rung.happenings[happening]);
    return times;
  };
  c.statements =
      judge_all(numbers, info, happenings, options, workers,
                [&](ObservableComparison one) { c.observables.push_back(std::move(one)); });
  return c;
}

ComparisonOptions options_of(const Ladder& ladder, ComparisonOptions options) {
  const Experiment& first = *ladder.rungs.front().experiment;
  options.invariants = first.system->shape().invariants;
  add_quadrature_errors(options.invariants);
  options.times = first.plan.schedule();
  if (is_estimated(first.system->info()))
    for (const Rung& rung : ladder.rungs)
      options.fresh.push_back(std::holds_alternative<SgdPlan>(rung.experiment->plan.mode));
  return options;
}

std::vector<Subject> happenings_of(const Ladder& ladder) {
  std::vector<Subject> all;
  for (const Rung& rung : ladder.rungs) {
    const System& system = *rung.experiment->system;
    all = together(std::move(all), happenings_of(system.info(), system.shape()));
  }
  return all;
}

GroupSpec comparison_group(const SystemInfo& system, const std::vector<std::string>& words,
                           double learning_rate, const ComparisonOptions& options,
                           const std::vector<Subject>& happenings) {
  const std::size_t pairs = pairs_of(words.size()).size();
  GroupSpec group;
  group.name = "comparison";
  group.attributes = {{"system", system.name},
                      {"rungs", joined(words)},
                      {"learning_rate", learning_rate},
                      {"delta", options.delta},
                      {"delta_time", options.delta_time},
                      {"delta_share", options.delta_share},
                      {"delta_factor", options.delta_factor},
                      {"level", options.level}};
  if (!options.fresh.empty()) group.attributes.push_back({"population", std::string("estimated")});
  group.dimensions = {rung_dimension(words), axis("time", options.times, "flow time"),
                      places("pair", pairs, "two rungs; a difference is second minus first")};
  group.variables = {pair_member("first", "first rung of the pair", words, pairs, true),
                     pair_member("second", "second rung of the pair", words, pairs, false),
                     variable("runs", {"rung"}, "runs of the rung", NumberType::int64),
                     variable("diverged", {"rung"},
                              "runs that diverged, left out of all statistics", NumberType::int64)};
  for (const ObservableInfo& info : system.observables) {
    const auto add = [&](const char* suffix, std::vector<std::string> dimensions,
                         const std::string& meaning) {
      group.variables.push_back(statistic_of(info.name, suffix, std::move(dimensions), meaning));
    };
    const std::vector<std::string> rungs = {"rung", "time"}, of_pairs = {"pair", "time"};
    add("_mean", rungs, "mean over runs");
    add("_mean_error", rungs, "standard error of the mean");
    add("_mean_low", rungs, "lower end of the mean's confidence interval");
    add("_mean_high", rungs, "upper end of the mean's confidence interval");
    add("_std", rungs, "standard deviation over runs");
    add("_std_low", rungs, "lower end of the standard deviation's confidence interval");
    add("_std_high", rungs, "upper end of the standard deviation's confidence interval");
    add("_step_effect", rungs, "mean change when the solver's steps are halved to dt (sde rungs)");
    add("_step_effect_error", rungs, "standard error of that change");
    add("_difference", of_pairs, "difference of the means");
    add("_difference_error", of_pairs, "standard error of the difference");
    add("_z", of_pairs, "difference in units of its standard error");
    add("_band", of_pairs, "half-width of the simultaneous confidence band over all times");
    add("_p_value", {"pair"}, "p-value of equal means at all times");
    add("_energy_distance", {"pair"}, "energy distance at the last time");
    add("_energy_p_value", {"pair"}, "p-value of equality in law at the last time");
    add("_margin", {}, "equivalence margin");
    group.variables.push_back(flags(info.name + "_verdict", {"pair"},
                                    info.name +
                                        ": agreement of the two rungs within the margin (-1: "
                                        "undefined, or an invariant)",
                                    verdict_words));
    add("_runs_needed", {"pair"}, "estimated number of runs needed for a verdict, if undecided");
    if (!has_depth(info, options.invariants)) continue;
    add("_mean_geometric", rungs,
        "geometric mean over runs; the observable's rounding replaces smaller values");
    add("_log_ratio", of_pairs, "difference of the logarithms of the geometric means");
    add("_log_ratio_band", of_pairs,
        "half-width of the simultaneous confidence band of that difference over all times");
  }
  if (const std::vector<StatementRow> rows = rows_of(system, options.invariants, happenings);
      !rows.empty())
    group.groups.push_back(verdicts_group(rows, system));
  return group;
}

void write_comparison(const TrajectoryGroup& file, const Comparison& c) {
  for (std::size_t r = 0; r < c.runs.size(); ++r) write_runs(file, r, c.runs[r], c.diverged[r]);
  for (const ObservableComparison& one : c.observables) write_observable(file, one);
  write_statements(file, c.statements);
}

void write_runs(const TrajectoryGroup& file, std::size_t rung, std::size_t runs,
                std::size_t diverged) {
  file.write("runs", rung, static_cast<std::int64_t>(runs));
  file.write("diverged", rung, static_cast<std::int64_t>(diverged));
}

void write_observable(const TrajectoryGroup& file, const ObservableComparison& one) {
  using Numbers = std::span<const double>;
  const auto rows = [&](const char* suffix, std::size_t row, const std::vector<double>& values) {
    file.write(one.name + suffix, row * values.size(), Numbers(values));
  };
  for (std::size_t r = 0; r < one.moments.size(); ++r) {
    const Moments& m = one.moments[r];
    rows("_mean", r, m.mean);
    rows("_mean_error", r, m.mean_error);
    rows("_mean_low", r, m.mean_low);
    rows("_mean_high", r, m.mean_high);
    rows("_std", r, m.deviation);
    rows("_std_low", r, m.deviation_low);
    rows("_std_high", r, m.deviation_high);
  }
  for (std::size_t p = 0; p < one.differences.size(); ++p) {
    const Difference& d = one.differences[p];
    rows("_difference", p, d.difference);
    rows("_difference_error", p, d.error);
    rows("_z", p, d.z);
    rows("_band", p, d.band);
    file.write(one.name + "_p_value", p, d.p_value);
    file.write(one.name + "_energy_distance", p, one.energy[p].distance);
    file.write(one.name + "_energy_p_value", p, one.energy[p].p_value);
  }
  file.write(one.name + "_margin", 0, one.margin);
  if (!one.logarithm) return;
  for (std::size_t r = 0; r < one.logarithm->moments.size(); ++r) {
    std::vector<double> means = one.logarithm->moments[r].mean;
    for (double& mean : means) mean = std::exp(mean);
    rows("_mean_geometric", r, means);
  }
  for (std::size_t p = 0; p < one.logarithm->differences.size(); ++p) {
    rows("_log_ratio", p, one.logarithm->differences[p].difference);
    rows("_log_ratio_band", p, one.logarithm->differences[p].band);
  }
}

// ---- orders

namespace {

const std::vector<std::pair<std::string, std::string>> kErrors = {
    {"mean", "mean minus sgd's"}, {"variance", "variance minus sgd's"}};

/// Returns whether both rungs keep an invariant up to rounding, so that any difference between them
/// is rounding.
bool both_conserve(const Moments& first, const Moments& second) {
  const double mean = first.mean.back();
  const double least = kKept * std::max(1.0, std::abs(mean));
  return std::abs(second.mean.back() - mean) <= least && first.deviation.back() <= least &&
         second.deviation.back() <= least;
}

}  // namespace

GroupSpec orders_group(const std::vector<Ladder>& ladders, double level) {
  const std::vector<std::string> words = words_of(ladders.front());
  GroupSpec group;
  group.name = "comparison";
  const std::vector<double> rates = rates_of(ladders);
  group.attributes = {{"system", ladders.front().rungs.front().experiment->system->info().name},
                      {"rungs", joined(words)},
                      {"level", level}};
  group.dimensions = {rung_dimension(words), axis("learning_rate", rates, "learning rate")};
  for (const ObservableInfo& info :
       ladders.front().rungs.front().experiment->system->info().observables) {
    for (const auto& [what, meaning] : kErrors) {
      const std::string name = info.name + "_" + what;
      const std::string of = info.name + ", " + meaning + ": ";
      group.variables.push_back(
          variable(name + "_weak_error", {"rung", "learning_rate"}, of + "signed, at the end"));
      group.variables.push_back(
          variable(name + "_weak_error_std", {"rung", "learning_rate"}, of + "its standard error"));
      group.variables.push_back(
          flags(name + "_fit", {"rung"},
                of + "result of fitting a power of the learning rate (-1: no fit)", order_words));
      group.variables.push_back(variable(name + "_order", {"rung"}, of + "fitted order"));
      group.variables.push_back(
          variable(name + "_order_low", {"rung"}, of + "lower end of the order's interval"));
      group.variables.push_back(
          variable(name + "_order_high", {"rung"}, of + "upper end of the order's interval"));
    }
  }
  return group;
}

void write_orders(const TrajectoryGroup& file, const std::vector<Ladder>& ladders,
                  const std::vector<Comparison>& comparisons, double level) {
  const std::vector<std::string> words = words_of(ladders.front());
  const auto sgd =
      static_cast<std::size_t>(std::find(words.begin(), words.end(), "sgd") - words.begin());
  const std::vector<double> rates = rates_of(ladders);
  const std::vector<std::string>& invariants =
      ladders.front().rungs.front().experiment->system->shape().invariants;
  for (std::size_t o = 0; o < comparisons.front().observables.size(); ++o) {
    const bool invariant = std::find(invariants.begin(), invariants.end(),
                                     comparisons.front().observables[o].name) != invariants.end();
    for (std::size_t what = 0; what < kErrors.size(); ++what) {
      const std::string name = comparisons.front().observables[o].name + "_" + kErrors[what].first;
      for (std::size_t r = 0; r < words.size(); ++r) {
        if (r == sgd) continue;
        std::vector<Estimate> errors;
        for (const Comparison& c : comparisons) {
          const auto estimate = [&](std::size_t rung) {
            const Moments& m = c.observables[o].moments[rung];
            const double s = m.deviation.back();
            const double n = static_cast<double>(c.runs[rung] - c.diverged[rung]);
            if (what == 0) return Estimate{m.mean.back(), m.mean_error.back(), n - 1};
            return Estimate{s * s, 2 * s * s * m.deviation_error.back(), n - 1};
          };
          errors.push_back(minus(estimate(r), estimate(sgd)));
        }
        const bool kept =
            invariant &&
            std::all_of(comparisons.begin(), comparisons.end(), [&](const Comparison& c) {
              return both_conserve(c.observables[o].moments[r], c.observables[o].moments[sgd]);
            });
        const OrderFit fit =
            kept ? OrderFit{OrderFit::Kind::rounding, kNoNumber, kNoNumber, kNoNumber, kNoNumber}
                 : fit_order(rates, errors, level);
        const auto write = [&](const char* of, double Estimate::*part) {
          std::vector<double> values;
          values.reserve(errors.size());
          for (const Estimate& e : errors) values.push_back(e.*part);
          file.write(name + of, r * rates.size(), std::span<const double>(values));
        };
        write("_weak_error", &Estimate::value);
        write("_weak_error_std", &Estimate::error);
        file.write(name + "_fit", r, static_cast<std::int8_t>(fit.kind));
        file.write(name + "_order", r, fit.order);
        file.write(name + "_order_low", r, fit.low);
        file.write(name + "_order_high", r, fit.high);
      }
    }
  }
}

}  // namespace popflow
