#include "run/layout.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <stdexcept>

#include "run/restart.hpp"
#include "run/specs.hpp"
#include "run/status.hpp"

namespace popflow {

namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();

/// The dimensions of something that every run has: its own after `run`, where there is one.
std::vector<std::string> of_each_run(const RunPlan& plan, std::vector<std::string> own = {}) {
  if (plan.ensemble) own.insert(own.begin(), "run");
  return own;
}

VariableSpec count(const RunPlan& plan, const std::string& name, const std::string& long_name) {
  VariableSpec v = variable(name, of_each_run(plan), long_name, NumberType::int64);
  v.data = std::vector<std::int64_t>(plan.runs, 0);
  return v;
}

GroupSpec statistics_group(const RunPlan& plan) {
  GroupSpec group;
  group.name = "statistics";
  group.variables = {
      count(plan, "rhs_evaluations", "evaluations of the right-hand side"),
      count(plan, "accepted_steps", "steps taken"),
      count(plan, "rejected_steps", "steps tried and not taken"),
      count(plan, "sampled_gradients", "per-sample gradients drawn"),
      variable("steps", of_each_run(plan, {"time"}), "steps since the save before",
               NumberType::int64),
      variable("step_min", of_each_run(plan, {"time"}), "smallest step since the save before"),
      variable("step_max", of_each_run(plan, {"time"}), "largest step since the save before")};
  return group;
}

GroupSpec events_group(const Shape& shape, const RunPlan& plan) {
  GroupSpec group;
  group.name = "events";
  // Readers find the same names in every file, also of a variant without events.
  const std::vector<std::string> events =
      shape.events.empty() ? std::vector<std::string>{"none"} : shape.events;
  group.dimensions = {places("event", events.size() * plan.runs, "place in the order of finding")};
  VariableSpec kind =
      variable("kind", {"event"}, "what happened (-1: nothing yet)", NumberType::int8);
  std::vector<std::int8_t> values;
  for (std::size_t i = 0; i < events.size(); ++i) values.push_back(static_cast<std::int8_t>(i));
  kind.attributes.push_back({"flag_values", values});
  kind.attributes.push_back({"flag_meanings", joined(events)});
  group.variables = {
      kind, variable("time", {"event"}, "flow time at which it happened"),
      variable("run", {"event"}, "run in which it happened (-1: none)", NumberType::int64),
      variable("index", {"event"}, "which token or the like (-1: none)", NumberType::int64)};
  return group;
}

/// The last state after post-processing.
GroupSpec final_group(const SystemInfo& info, const RunPlan& plan) {
  GroupSpec group;
  group.name = "final";
  if (!info.final_title.empty()) group.attributes.push_back({"made_into", info.final_title});
  for (const FinalInfo& final : info.finals) {
    group.variables.push_back(variable(final.name, of_each_run(plan), final.meaning));
    if (!final.symbol.empty())
      group.variables.back().attributes.push_back({"symbol", final.symbol});
    if (final.warns) group.variables.back().attributes.push_back({"warns", std::int8_t{1}});
  }
  return group;
}

/// Which stage of its training each run is in.
void add_stage(GroupSpec& root, const System& system, const RunPlan& plan) {
  if (!system.shape().stages) return;
  VariableSpec stage = variable("stage", of_each_run(plan, {"time"}),
                                "stage of the training (-1: not recorded)", NumberType::int8);
  std::vector<std::int8_t> values;
  std::vector<std::string> words;
  for (const StageInfo& info : system.info().stages) {
    words.push_back(info.word);
    values.push_back(static_cast<std::int8_t>(words.size()));
  }
  stage.attributes.push_back({"flag_values", values});
  stage.attributes.push_back({"flag_meanings", joined(words)});
  root.variables.push_back(std::move(stage));
}

/// Where a value's equation is: in the system's own source, unless it says more.
std::string source_of(const std::string& source, const System& system) {
  return source.empty() ? system.info().source : source;
}

void add_state(GroupSpec& root, const System& system, const RunPlan& plan) {
  if (plan.states == StateSaves::none) return;
  if (plan.states == StateSaves::ends)
    root.dimensions.push_back(
        axis("time_state", {0, plan.schedule().back()}, "flow time of the start and the stop"));
  for (const std::string& name : system.shape().fields) {
    const FieldInfo& info = field_info(system, name);
    std::vector<std::string> dimensions =
        of_each_run(plan, {plan.states == StateSaves::all ? "time" : "time_state"});
    dimensions.insert(dimensions.end(), info.dimensions.begin(), info.dimensions.end());
    VariableSpec field = variable(name, std::move(dimensions), info.meaning);
    field.attributes.push_back({"symbol", info.symbol});
    field.attributes.push_back({"source", source_of(info.source, system)});
    root.variables.push_back(std::move(field));
  }
}

void add_observables(GroupSpec& root, const System& system, const RunPlan& plan) {
  const std::vector<std::string>& held = system.shape().invariants;
  for (const ObservableInfo& info : system.info().observables) {
    VariableSpec observable = variable(info.name, of_each_run(plan, {"time"}), info.meaning);
    observable.attributes.push_back({"symbol", info.symbol});
    observable.attributes.push_back({"source", source_of(info.source, system)});
    if (std::find(held.begin(), held.end(), info.name) != held.end()) {
      for (const InvariantInfo& invariant : system.info().invariants)
        if (invariant.observable == info.name)
          observable.attributes.push_back(
              {"invariant",
               std::string(invariant.form == InvariantInfo::Form::zero ? "zero" : "constant")});
    }
    root.variables.push_back(std::move(observable));
  }
}

void add_passages(GroupSpec& root, const System& system, const RunPlan& plan) {
  for (const std::string& name : system.shape().passages) {
    const PassageInfo& info = passage_info(system.info(), name);
    VariableSpec times = variable(name, of_each_run(plan, info.dimensions), info.meaning);
    times.attributes.push_back({"symbol", info.symbol});
    times.attributes.push_back({"source", source_of(info.source, system)});
    root.variables.push_back(std::move(times));
  }
}

/// What an ensemble records of each of its runs.
void add_ends(GroupSpec& root, const SystemInfo& info, const RunPlan& plan) {
  if (!plan.ensemble) return;
  const auto of_runs = [&](const char* name, const char* meaning,
                           const std::vector<std::string>& words) {
    VariableSpec v = flags(name, {"run"}, meaning, words);
    v.data = std::vector<std::int8_t>(plan.runs, 0);
    root.variables.push_back(std::move(v));
  };
  of_runs("status", "status of the run", {status_words.begin(), status_words.end()});
  root.variables.push_back(
      variable("diverged_at", {"run"}, "flow time at which the run diverged (NaN: it did not)"));
  root.variables.push_back(variable("stop_time", {"run"}, "flow time at which the run ended"));
  if (info.outcomes.empty()) return;
  std::vector<std::string> words = {"undecided"};
  for (const OutcomeInfo& outcome : info.outcomes) words.push_back(outcome.word);
  of_runs("outcome", "where the run has ended", words);
}

/// The step at each time, where time is counted in steps.
void add_steps(GroupSpec& root, const RunPlan& plan) {
  if (!(plan.step_length() > 0)) return;
  VariableSpec step = variable("step", {"time"}, "step of the method", NumberType::int64);
  std::vector<std::int64_t> numbers;
  for (const double time : plan.schedule())
    numbers.push_back(std::llround(time / plan.step_length()));
  step.data = std::move(numbers);
  root.variables.push_back(std::move(step));
}

}  // namespace

std::string timestamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

const FieldInfo& field_info(const System& system, const std::string& name) {
  for (const FieldInfo& info : system.info().fields)
    if (info.name == name) return info;
  throw std::logic_error(system.info().name + " records a field it does not describe: " + name);
}

std::size_t field_size(const System& system, const FieldInfo& field) {
  return system.shape().size_of(field.dimensions);
}

GroupSpec run_layout(const System& system, const RunConfig& config, const RunPlan& plan,
                     const DriverData& driver_data, unsigned threads) {
  const SystemInfo& info = system.info();
  std::vector<std::string> observables;
  for (const ObservableInfo& observable : info.observables) observables.push_back(observable.name);

  GroupSpec root;
  root.attributes = file_attributes(info, info.title, mode_of(plan.mode), config);
  root.attributes.insert(root.attributes.end(), {{"diverged_at", kNone},
                                                 {"observables", joined(observables)},
                                                 {"state_fields", joined(system.shape().fields)},
                                                 {"invariants", joined(system.shape().invariants)},
                                                 {"passages", joined(system.shape().passages)}});
  std::vector<std::string> constants;
  for (const auto& [name, value] : system.shape().constants) constants.push_back(name);
  root.attributes.push_back({"constants", joined(constants)});
  if (!info.outcomes.empty()) root.attributes.push_back({"outcome", std::string("undecided"), 16});
  for (const auto& [name, value] : system.shape().constants)
    root.attributes.push_back({name, value});

  if (plan.ensemble) {
    root.dimensions.push_back(places("run", plan.runs, "run with noise of its own"));
    root.dimensions.back().first = static_cast<std::int64_t>(plan.first_run);
  }
  root.dimensions.push_back(axis("time", plan.schedule(), "flow time"));
  for (const DimensionSpec& dimension : system.shape().dimensions)
    root.dimensions.push_back(dimension);
  root.variables = {count(plan, "saves_done", "saves that hold data; the rest are NaN")};
  add_ends(root, info, plan);
  add_steps(root, plan);
  add_stage(root, system, plan);
  add_observables(root, system, plan);
  add_state(root, system, plan);
  add_passages(root, system, plan);
  for (const VariableSpec& constant : system.constants_of_fields())
    root.variables.push_back(constant);

  root.groups = {system.problem(),
                 parameters_group(config),
                 provenance_group(threads),
                 statistics_group(plan),
                 events_group(system.shape(), plan),
                 restart_group(system, plan.course.spacing, driver_data, plan.runs)};
  if (system.shape().finals) root.groups.push_back(final_group(info, plan));
  return root;
}

}  // namespace popflow
