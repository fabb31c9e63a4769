#include "compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/specs.hpp"
#include "run/status.hpp"

namespace popflow {

namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();

double range_of(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  return high > low ? high - low : kNone;
}

std::vector<std::string> words_of(const Setting& setting) {
  std::vector<std::string> words;
  for (const Rung& rung : setting.rungs) words.push_back(rung.word);
  return words;
}

std::vector<double> rates_of(const std::vector<Setting>& settings) {
  std::vector<double> rates(settings.size());
  std::transform(settings.begin(), settings.end(), rates.begin(),
                 [](const Setting& setting) { return setting.learning_rate; });
  return rates;
}

/// The coordinate `rung`, with its words.
DimensionSpec rung_dimension(const std::vector<std::string>& words) {
  DimensionSpec d = places("rung", words.size(), "rung; the words are in flag_meanings");
  std::vector<std::int8_t> values;
  for (std::size_t i = 0; i < words.size(); ++i) values.push_back(static_cast<std::int8_t>(i));
  d.attributes.push_back({"flag_values", values});
  d.attributes.push_back({"flag_meanings", joined(words)});
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

RungPaths read_paths(const DataFile& group, const Rung& rung) {
  RungPaths result{rung.experiment->plan.runs, 0, {}};
  std::vector<std::int64_t> status(result.runs, static_cast<std::int64_t>(Status::complete));
  if (!rung.exact()) status = group.read("status").integers;
  if (status.size() != result.runs)
    throw InputError(group.path() + " is damaged: 'status' has another shape");
  std::vector<bool> diverged;
  for (const std::int64_t one : status) {
    diverged.push_back(one == static_cast<std::int64_t>(Status::diverged));
    result.diverged += diverged.back() ? 1 : 0;
  }
  for (const ObservableInfo& observable : rung.experiment->system->info().observables) {
    const DataArray array = group.read(observable.name);
    Paths paths{0, rung.experiment->plan.schedule.size(), {}, rung.exact()};
    if (array.values.size() != result.runs * paths.times)
      throw InputError(group.path() + " is damaged: '" + observable.name + "' has another shape");
    for (std::size_t run = 0; run < result.runs; ++run) {
      if (diverged[run] && result.diverged < result.runs) continue;
      const auto begin = array.values.begin() + static_cast<std::ptrdiff_t>(run * paths.times);
      paths.values.insert(paths.values.end(), begin,
                          begin + static_cast<std::ptrdiff_t>(paths.times));
      ++paths.runs;
    }
    result.observables.push_back(std::move(paths));
  }
  return result;
}

namespace {

/// The first times at which at least two runs (of an exact rung, the one) are finite throughout.
std::size_t usable_times(const Paths& paths) {
  const std::size_t least = std::min<std::size_t>(2, paths.runs);
  std::size_t times = paths.times;
  while (times > 0 && finite_runs(paths, times).runs < least) --times;
  return times;
}

std::vector<double> finite_at_end(const Paths& paths) {
  std::vector<double> values;
  for (std::size_t run = 0; run < paths.runs; ++run)
    if (const double x = paths.at(run, paths.times - 1); std::isfinite(x)) values.push_back(x);
  return values;
}

}  // namespace

Comparison compare_rungs(const std::vector<RungPaths>& rungs, const SystemInfo& info, double delta,
                         double level, std::uint64_t seed, Workers& workers) {
  Comparison c;
  c.pairs = pairs_of(rungs.size());
  for (const RungPaths& rung : rungs) {
    c.runs.push_back(rung.runs);
    c.diverged.push_back(rung.diverged);
  }
  for (std::size_t o = 0; o < info.observables.size(); ++o) {
    ObservableComparison one;
    one.name = info.observables[o].name;
    for (const RungPaths& rung : rungs) one.moments.push_back(moments(rung.observables[o], level));
    // Without a flow the range is that of the first rung's mean.
    const auto exact = std::find_if(rungs.begin(), rungs.end(), [&](const RungPaths& rung) {
      return rung.observables[o].exact;
    });
    const auto reference = exact == rungs.end() ? 0 : exact - rungs.begin();
    one.margin = delta * range_of(one.moments[static_cast<std::size_t>(reference)].mean);
    for (const auto& [i, j] : c.pairs) {
      const Paths& first = rungs[i].observables[o];
      const Paths& second = rungs[j].observables[o];
      const std::size_t times = std::min(usable_times(first), usable_times(second));
      Difference d =
          difference(finite_runs(first, times), finite_runs(second, times), level, seed, workers);
      one.verdicts.push_back(
          times == 0 ? Verdict{Verdict::Kind::undecided, kNone}
                     : verdict(d, one.margin, level, std::max(first.runs, second.runs)));
      if (proportions_p_value(rungs[i].diverged, rungs[i].runs, rungs[j].diverged, rungs[j].runs) <=
          1 - level)
        one.verdicts.back().kind = Verdict::Kind::differ;
      for (auto* values : {&d.difference, &d.error, &d.z, &d.band})
        values->resize(first.times, kNone);
      one.differences.push_back(std::move(d));
      one.energy.push_back(
          first.exact || second.exact
              ? EnergyDistance{kNone, kNone}
              : energy_distance(finite_at_end(first), finite_at_end(second), seed));
    }
    c.observables.push_back(std::move(one));
  }
  return c;
}

GroupSpec comparison_group(const Setting& setting, double delta, double level) {
  const std::vector<std::string> words = words_of(setting);
  const Experiment& first = *setting.rungs.front().experiment;
  const std::size_t pairs = pairs_of(words.size()).size();
  GroupSpec group;
  group.name = "comparison";
  group.attributes = {{"system", first.system->info().name},
                      {"rungs", joined(words)},
                      {"learning_rate", setting.learning_rate},
                      {"delta", delta},
                      {"level", level}};
  group.dimensions = {rung_dimension(words), axis("time", first.plan.schedule, "flow time"),
                      places("pair", pairs, "two rungs; a difference is second minus first")};
  group.variables = {pair_member("first", "first rung of the pair", words, pairs, true),
                     pair_member("second", "second rung of the pair", words, pairs, false),
                     variable("runs", {"rung"}, "runs of the rung", NumberType::int64),
                     variable("diverged", {"rung"},
                              "runs that diverged, left out of all statistics", NumberType::int64)};
  for (const ObservableInfo& info : first.system->info().observables) {
    const auto add = [&](const char* suffix, std::vector<std::string> dimensions,
                         const std::string& meaning) {
      group.variables.push_back(
          variable(info.name + suffix, std::move(dimensions), info.name + ": " + meaning));
    };
    const std::vector<std::string> rungs = {"rung", "time"}, of_pairs = {"pair", "time"};
    add("_mean", rungs, "mean over runs");
    add("_mean_error", rungs, "standard error of the mean");
    add("_std", rungs, "standard deviation over runs");
    add("_std_low", rungs, "lower end of the standard deviation's confidence interval");
    add("_std_high", rungs, "upper end of the standard deviation's confidence interval");
    add("_step_effect", rungs, "mean change when the solver's steps are halved to dt (sde rungs)");
    add("_step_effect_error", rungs, "standard error of that change");
    add("_difference", of_pairs, "difference of the means");
    add("_difference_error", of_pairs, "standard error of the difference");
    add("_z", of_pairs, "difference in standard errors");
    add("_band", of_pairs, "half-width of the band that holds at all times at once");
    add("_p_value", {"pair"}, "p-value of equal means at all times");
    add("_energy_distance", {"pair"}, "energy distance at the last time");
    add("_energy_p_value", {"pair"}, "p-value of equal laws at the last time");
    add("_margin", {}, "difference that counts as none");
    group.variables.push_back(flags(info.name + "_verdict", {"pair"},
                                    info.name + ": do the two rungs agree within the margin",
                                    verdict_words));
    add("_runs_needed", {"pair"}, "runs that would tell, where the verdict is undecided");
  }
  return group;
}

void write_comparison(const TrajectoryGroup& file, const Comparison& c) {
  using Numbers = std::span<const double>;
  for (std::size_t r = 0; r < c.runs.size(); ++r) {
    file.write("runs", r, static_cast<std::int64_t>(c.runs[r]));
    file.write("diverged", r, static_cast<std::int64_t>(c.diverged[r]));
  }
  for (const ObservableComparison& one : c.observables) {
    const auto rows = [&](const char* suffix, std::size_t row, const std::vector<double>& values) {
      file.write(one.name + suffix, row * values.size(), Numbers(values));
    };
    for (std::size_t r = 0; r < one.moments.size(); ++r) {
      const Moments& m = one.moments[r];
      rows("_mean", r, m.mean);
      rows("_mean_error", r, m.mean_error);
      rows("_std", r, m.deviation);
      rows("_std_low", r, m.deviation_low);
      rows("_std_high", r, m.deviation_high);
    }
    for (std::size_t p = 0; p < c.pairs.size(); ++p) {
      const Difference& d = one.differences[p];
      rows("_difference", p, d.difference);
      rows("_difference_error", p, d.error);
      rows("_z", p, d.z);
      rows("_band", p, d.band);
      file.write(one.name + "_p_value", p, d.p_value);
      file.write(one.name + "_energy_distance", p, one.energy[p].distance);
      file.write(one.name + "_energy_p_value", p, one.energy[p].p_value);
      file.write(one.name + "_verdict", p, static_cast<std::int8_t>(one.verdicts[p].kind));
      const bool open = one.verdicts[p].kind == Verdict::Kind::undecided;
      file.write(one.name + "_runs_needed", p, open ? one.verdicts[p].runs_needed : kNone);
    }
    file.write(one.name + "_margin", 0, one.margin);
  }
}

// ---- orders

namespace {

const std::vector<std::pair<std::string, std::string>> kErrors = {
    {"mean", "mean minus sgd's"}, {"variance", "variance minus sgd's"}};

}  // namespace

GroupSpec orders_group(const std::vector<Setting>& settings, double level) {
  const std::vector<std::string> words = words_of(settings.front());
  GroupSpec group;
  group.name = "comparison";
  const std::vector<double> rates = rates_of(settings);
  group.attributes = {{"system", settings.front().rungs.front().experiment->system->info().name},
                      {"rungs", joined(words)},
                      {"level", level}};
  group.dimensions = {rung_dimension(words), axis("learning_rate", rates, "learning rate")};
  for (const ObservableInfo& info :
       settings.front().rungs.front().experiment->system->info().observables) {
    for (const auto& [what, meaning] : kErrors) {
      const std::string name = info.name + "_" + what;
      const std::string of = info.name + ", " + meaning + ": ";
      group.variables.push_back(
          variable(name + "_weak_error", {"rung", "learning_rate"}, of + "signed, at the end"));
      group.variables.push_back(
          variable(name + "_weak_error_std", {"rung", "learning_rate"}, of + "its standard error"));
      group.variables.push_back(flags(name + "_fit", {"rung"},
                                      of + "does a power of the learning rate fit", order_words));
      group.variables.push_back(variable(name + "_order", {"rung"}, of + "fitted order"));
      group.variables.push_back(
          variable(name + "_order_low", {"rung"}, of + "lower end of the order's interval"));
      group.variables.push_back(
          variable(name + "_order_high", {"rung"}, of + "upper end of the order's interval"));
    }
  }
  return group;
}

void write_orders(const TrajectoryGroup& file, const std::vector<Setting>& settings,
                  const std::vector<Comparison>& comparisons, double level) {
  const std::vector<std::string> words = words_of(settings.front());
  const auto sgd =
      static_cast<std::size_t>(std::find(words.begin(), words.end(), "sgd") - words.begin());
  const std::vector<double> rates = rates_of(settings);
  for (std::size_t o = 0; o < comparisons.front().observables.size(); ++o) {
    for (std::size_t what = 0; what < kErrors.size(); ++what) {
      const std::string name = comparisons.front().observables[o].name + "_" + kErrors[what].first;
      for (std::size_t r = 0; r < words.size(); ++r) {
        if (r == sgd) continue;
        std::vector<double> errors, standard;
        for (const Comparison& c : comparisons) {
          const auto value = [&](std::size_t rung) {
            const Moments& m = c.observables[o].moments[rung];
            const double s = m.deviation.back();
            if (what == 0) return std::pair{m.mean.back(), m.mean_error.back()};
            // The interval of log s, taken back to the error of s^2.
            const double n = static_cast<double>(c.runs[rung] - c.diverged[rung]);
            const double log_error =
                s > 0 ? 0.5 * std::log(m.deviation_high.back() / m.deviation_low.back()) : 0;
            return std::pair{s * s, 2 * s * s * log_error / student_quantile(level, n - 1)};
          };
          const auto [here, here_error] = value(r);
          const auto [truth, truth_error] = value(sgd);
          errors.push_back(here - truth);
          standard.push_back(std::hypot(here_error, truth_error));
        }
        const OrderFit fit = fit_order(rates, errors, standard, level);
        file.write(name + "_weak_error", r * rates.size(), std::span<const double>(errors));
        file.write(name + "_weak_error_std", r * rates.size(), std::span<const double>(standard));
        file.write(name + "_fit", r, static_cast<std::int8_t>(fit.kind));
        file.write(name + "_order", r, fit.order);
        file.write(name + "_order_low", r, fit.low);
        file.write(name + "_order_high", r, fit.high);
      }
    }
  }
}

}  // namespace popflow
