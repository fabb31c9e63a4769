#include "observed/observed_info.hpp"

#include <algorithm>

#include "observed/stop_condition.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"
#include "training/weight_average.hpp"

namespace popflow {

namespace {

bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> names_of_observables(const SystemInfo& system) {
  std::vector<std::string> names;
  for (const ObservableInfo& info : system.observables) names.push_back(info.name);
  return names;
}

/// Kind of quantity, other than an observable, that has this name, such as "an event"; empty if
/// there is none.
std::string other_kind(const std::string& name, const SystemInfo& system) {
  const auto has = [&](const auto& infos) {
    return std::ranges::any_of(infos, [&](const auto& info) { return info.name == name; });
  };
  if (has(system.fields)) return "a field, which has many numbers";
  if (has(system.passages)) return "a passage, which has many numbers";
  if (has(system.events)) return "an event";
  if (has(system.constants)) return "a constant";
  if (has(system.finals)) return "a final value";
  return "";
}

/// Returns a panel of a figure without the observables that are left out; empty if no data remains.
std::string panel_without(const std::string& panel, const std::vector<std::string>& left_out) {
  std::vector<std::string> kept;
  bool data = true, any = false, plane = false, broken = false;
  for (const std::string& word : text::split_words(panel)) {
    if (word == "over") plane = true;
    if (word == "at" || word == "when" || word == "by" || word == "beside") data = false;
    if (data && is_among(word, left_out)) {
      broken = true;
      continue;
    }
    any = any || (data && word != "over");
    kept.push_back(word);
  }
  return any && !(plane && broken) ? text::join(kept, " ") : "";
}

std::string figure_without(const std::string& figure, const std::vector<std::string>& left_out) {
  std::vector<std::string> panels;
  for (const std::string& panel : text::split(figure, ';'))
    if (std::string kept = panel_without(panel, left_out); !kept.empty())
      panels.push_back(std::move(kept));
  return text::join(panels, "; ");
}

}  // namespace

const ObservableInfo& sharpness_threshold() {
  static const ObservableInfo info = {
      "sharpness_threshold", "lambda_crit",
      "sharpness beyond which steps of the training rule are unstable",
      "linear stability; Cohen et al. 2022, arXiv 2207.14484"};
  return info;
}

const ObservableInfo& scheduled_learning_rate() {
  static const ObservableInfo info = {
      "learning_rate", "eta s(t)", "learning rate, with its schedule", "--learning-rate-schedule"};
  return info;
}

Observation observation_of(const Parameters& options) {
  Observation what;
  // Not every command has these options.
  const auto has = [&](const char* name) {
    return options.find(name) != nullptr && options.has(name);
  };
  if (has("record-observables")) what.recorded = options.word("record-observables");
  what.sharpness = has("sharpness") && options.flag("sharpness");
  what.averages = has("average");
  if (has("stop-when") && is_condition(options.word("stop-when")))
    what.condition = options.word("stop-when");
  return what;
}

namespace {

/// Adds what the training rule records.
SystemInfo with_rule(const SystemInfo& system, const Observation& what) {
  return what.averages ? with_averages(system) : system;
}

}  // namespace

SystemInfo with_sharpness(SystemInfo system, const Observation& what) {
  if (!what.sharpness) return system;
  if (is_among(kSharpness, names_of_observables(system)))
    throw UsageError("--sharpness: " + system.name + " has an observable of that name");
  system.observables.push_back(
      {kSharpness, "lambda_max",
       "largest eigenvalue of the loss's Hessian, preconditioned as in training (NaN: undefined)",
       "Lanczos' method; Cohen et al. 2021, arXiv 2103.00065"});
  return system;
}

void require_observable(const std::string& name, const SystemInfo& system,
                        const std::string& opening) {
  const std::vector<std::string> known = names_of_observables(system);
  if (is_among(name, known)) return;
  const std::string other = other_kind(name, system);
  const std::string near = other.empty() ? nearest(name, known) : "";
  if (name == kSharpness) throw UsageError(opening + " '" + name + "', which needs --sharpness");
  throw UsageError(opening + " '" + name + "', " +
                   (other.empty() ? "which " + system.name + " does not have" : other) +
                   "; observables are " + text::join(known, ", ") +
                   (near.empty() ? "" : "; did you mean " + near + "?"));
}

std::vector<std::string> recorded_observables(const SystemInfo& system, const Observation& what) {
  const std::string& words = what.recorded;
  std::vector<std::string> known = names_of_observables(system);
  if (words == Observation::kAll) return known;
  std::vector<std::string> asked;
  for (const std::string& part : text::split(words, ',')) {
    const std::vector<std::string> name = text::split_words(part);
    if (name.size() != 1)
      throw UsageError("--record-observables is '" + words +
                       "'; it must be 'all', or names of observables separated by commas: " +
                       text::join(known, ", "));
    require_observable(name.front(), system, "--record-observables has");
    if (is_among(name.front(), asked))
      throw UsageError("--record-observables names " + name.front() + " twice");
    asked.push_back(name.front());
  }
  std::erase_if(known, [&](const std::string& name) {
    return !is_among(name, asked) && !(name == kSharpness && what.sharpness);
  });
  return known;
}

SystemInfo with_observables(SystemInfo system, const std::vector<std::string>& names) {
  std::vector<std::string> left_out = names_of_observables(system);
  std::erase_if(left_out, [&](const std::string& name) { return is_among(name, names); });
  if (left_out.empty()) return system;
  std::erase_if(system.observables,
                [&](const ObservableInfo& info) { return is_among(info.name, left_out); });
  std::erase_if(system.invariants,
                [&](const InvariantInfo& info) { return is_among(info.observable, left_out); });
  system.figure = figure_without(system.figure, left_out);
  system.figure_of_sweeps = panel_without(system.figure_of_sweeps, left_out);
  return system;
}

SystemInfo observed_info(const SystemInfo& system, const Observation& what) {
  const SystemInfo all = with_sharpness(system, what);
  return with_observables(all, recorded_observables(all, what));
}

SystemInfo recorded_info(const SystemInfo& system, const Observation& what) {
  return observed_info(with_rule(system, what), what);
}

void require_observed(const Parameters& options, const SystemInfo& alone) {
  const Observation what = observation_of(options);
  const SystemInfo system = with_sharpness(with_rule(alone, what), what);
  const auto check = [&](const char* option, const auto& read) {
    if (options.find(option) == nullptr || !options.has(option)) return;
    try {
      read();
    } catch (const UsageError& error) {
      if (options.origin(option) == Origin::config) throw InputError(error.what());
      throw;
    }
  };
  check("record-observables", [&] { (void)recorded_observables(system, what); });
  check("stop-when", [&] {
    if (what.condition) (void)StopCondition::parse(*what.condition, system);
  });
}

}  // namespace popflow
