#include "run/layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/described.hpp"
#include "engine/restart.hpp"
#include "engine/specs.hpp"
#include "flow/watched.hpp"

namespace popflow {

namespace {

const double kNone = std::numeric_limits<double>::quiet_NaN();

/// Returns the dimensions of a quantity that every run has: `run`, if this is an ensemble, and then
/// `own`.
std::vector<std::string> of_each_run(const Plan& plan, std::vector<std::string> own = {}) {
  if (plan.ensemble.is_one) own.insert(own.begin(), "run");
  return own;
}

VariableSpec count(const Plan& plan, const std::string& name, const std::string& long_name) {
  VariableSpec v = variable(name, of_each_run(plan), long_name, NumberType::int64);
  v.data = std::vector<std::int64_t>(plan.ensemble.runs, 0);
  return v;
}

GroupSpec statistics_group(const Plan& plan) {
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

GroupSpec events_group(const Shape& shape, const Plan& plan) {
  GroupSpec group;
  group.name = "events";
  // Readers find the same names in every file, even if a variant of the system has no events.
  const std::vector<std::string> events =
      shape.events.empty() ? std::vector<std::string>{"none"} : shape.events;
  group.dimensions = {
      places("event", events.size() * plan.ensemble.runs, "place in the order of finding")};
  group.variables = {
      kinds_of(events, {"event"}), variable("time", {"event"}, "flow time at which it happened"),
      variable("run", {"event"}, "run in which it happened (-1: none)", NumberType::int64),
      variable("index", {"event"}, "item of the event, such as a token (-1: none)",
               NumberType::int64)};
  return group;
}

/// Group of the last state after post-processing.
GroupSpec final_group(const SystemInfo& info, const Plan& plan) {
  GroupSpec group;
  group.name = "final";
  if (!info.final_title.empty()) group.attributes.push_back({"made_into", info.final_title});
  for (const FinalInfo& final : info.finals) {
    group.variables.push_back(variable_of(final, of_each_run(plan)));
    if (final.warns) group.variables.back().attributes.push_back({"warns", std::int8_t{1}});
  }
  return group;
}

void add_state(GroupSpec& root, const System& system, const Plan& plan) {
  if (plan.output.states == StateSaves::none) return;
  if (plan.output.states == StateSaves::ends)
    root.dimensions.push_back(
        axis("time_state", {0, plan.schedule().back()}, "flow time of the start and the stop"));
  for (const std::string& name : system.shape().fields) {
    const FieldInfo& info = field_info(system, name);
    std::vector<std::string> dimensions =
        of_each_run(plan, {plan.output.states == StateSaves::all ? "time" : "time_state"});
    dimensions.insert(dimensions.end(), info.dimensions.begin(), info.dimensions.end());
    root.variables.push_back(variable_of(info, system.info(), std::move(dimensions)));
  }
}

void add_observables(GroupSpec& root, const System& system, const Plan& plan) {
  const std::vector<std::string>& held = system.shape().invariants;
  for (const ObservableInfo& info : system.info().observables) {
    VariableSpec observable = variable_of(info, system.info(), of_each_run(plan, {"time"}));
    if (std::find(held.begin(), held.end(), info.name) != held.end()) {
      for (const InvariantInfo& invariant : system.info().invariants)
        if (invariant.observable == info.name)
          observable.attributes.push_back(
              {"invariant",
               std::string(invariant.form == InvariantInfo::Form::zero ? "zero" : "constant")});
    }
    root.variables.push_back(std::move(observable));
  }
  for (const ObservableInfo& info : numbers_of_rule(system))
    root.variables.push_back(variable_of(info, system.info(), of_each_run(plan, {"time"})));
}

void add_passages(GroupSpec& root, const System& system, const Plan& plan) {
  for (const std::string& name : system.shape().passages) {
    const PassageInfo& info = passage_info(system.info(), name);
    root.variables.push_back(variable_of(info, system.info(), of_each_run(plan, info.dimensions)));
  }
}

/// Adds how each run of an ensemble ended.
void add_ends(GroupSpec& root, const SystemInfo& info, const Plan& plan) {
  if (!plan.ensemble.is_one) return;
  const auto add = [&](VariableSpec of_runs) {
    of_runs.data = std::vector<std::int8_t>(plan.ensemble.runs, 0);
    root.variables.push_back(std::move(of_runs));
  };
  add(status_of_runs({"run"}));
  root.variables.push_back(
      variable("diverged_at", {"run"}, "flow time at which the run diverged (NaN: it did not)"));
  root.variables.push_back(variable("stop_time", {"run"}, "flow time at which the run ended"));
  if (!info.outcomes.empty()) add(outcome_of(info, {"run"}));
}

/// Adds the step number of each time, if time is counted in steps.
void add_steps(GroupSpec& root, const Plan& plan) {
  if (!(plan.step_length() > 0)) return;
  VariableSpec step = variable("step", {"time"}, "step of the method", NumberType::int64);
  std::vector<std::int64_t> numbers;
  for (const double time : plan.schedule())
    numbers.push_back(std::llround(time / plan.step_length()));
  step.data = std::move(numbers);
  root.variables.push_back(std::move(step));
}

}  // namespace

GroupSpec run_layout(const System& system, const RunConfig& config, const Plan& plan,
                     const DriverData& driver_data, unsigned threads) {
  const SystemInfo& info = system.info();
  GroupSpec root;
  root.attributes = file_attributes(info, info.title, mode_of(plan.mode), config);
  root.attributes.insert(root.attributes.end(),
                         {{"diverged_at", kNone},
                          {"observables", joined(names_of(info.observables))},
                          {"state_fields", joined(system.shape().fields)},
                          {"invariants", joined(system.shape().invariants)},
                          {"passages", joined(system.shape().passages)}});
  std::vector<std::string> constants;
  for (const auto& [name, value] : system.shape().constants) constants.push_back(name);
  root.attributes.push_back({"constants", joined(constants)});
  if (!info.outcomes.empty()) root.attributes.push_back({"outcome", std::string("undecided"), 16});
  for (const auto& [name, value] : system.shape().constants)
    root.attributes.push_back({name, value});

  if (plan.ensemble.is_one) {
    root.dimensions.push_back(places("run", plan.ensemble.runs, "run with noise of its own"));
    root.dimensions.back().first = static_cast<std::int64_t>(plan.ensemble.first_run);
  }
  root.dimensions.push_back(axis("time", plan.schedule(), "flow time"));
  for (const DimensionSpec& dimension : system.shape().dimensions)
    root.dimensions.push_back(dimension);
  root.variables = {count(plan, "saves_done", "saves that hold data; the rest are NaN")};
  add_ends(root, info, plan);
  add_steps(root, plan);
  if (system.shape().stages) root.variables.push_back(stage_of(info, of_each_run(plan, {"time"})));
  add_observables(root, system, plan);
  add_state(root, system, plan);
  add_passages(root, system, plan);
  for (const VariableSpec& constant : system.constants_of_fields())
    root.variables.push_back(constant);

  root.groups = {system.problem(),
                 parameters_group(config),
                 provenance_group(threads, info),
                 statistics_group(plan),
                 events_group(system.shape(), plan),
                 restart_group(system, plan.course.spacing, driver_data, plan.ensemble.runs)};
  if (system.shape().finals) root.groups.push_back(final_group(info, plan));
  return root;
}

}  // namespace popflow
