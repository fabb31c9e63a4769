#include "plan/run_plan.hpp"

#include <cmath>

#include "flow/flow_lanes.hpp"
#include "noise/sde_lanes.hpp"
#include "popflow/error.hpp"
#include "training/training_plan.hpp"

namespace popflow {

namespace {

/// Whether lanes are used. `any`: the system has lanes; `by_itself`: --kernel auto selects them.
bool uses_lanes(const Parameters& options, bool any, bool by_itself, const std::string& whose) {
  const std::string& kernel = options.word("kernel");
  if (kernel == "lanes" && !any)
    throw UsageError("--kernel lanes: no SIMD lanes exist for " + whose + "; use auto or scalar");
  return any && (kernel == "lanes" || (kernel == "auto" && by_itself));
}

void complete(FlowPlan& flow, const Parameters& options, const System& system, double end,
              Asked asked) {
  const Capabilities can = system.capabilities();
  flow.driver.end = end;
  if (!flow.driver.max_step && std::isfinite(can.longest_step) &&
      flow.method->steps == StepRule::adaptive)
    flow.driver.max_step = can.longest_step;
  const std::string why_not = can.in_lanes ? " with this --method, or with --stop-when"
                              : can.in_lanes.why_not().empty()
                                  ? ""
                                  : " (" + can.in_lanes.why_not() + ")";
  flow.lanes = uses_lanes(options, has_flow_lanes(system, flow.driver.method, flow.may_stop_early),
                          asked == Asked::in_sweep, "the flow of " + system.info().name + why_not);
}

void complete(SdePlan& sde, const Parameters& options, const System& system) {
  sde.lanes = uses_lanes(options, has_noisy_lanes(system, sde.driver), true,
                         "the noise of " + system.info().name + " with these options");
}

/// Bytes of the state fields of one save.
double state_bytes(const System& system) {
  double numbers = 0;
  for (const FieldInfo& field : system.info().fields)
    for (const std::string& name : system.shape().fields)
      if (name == field.name)
        numbers += static_cast<double>(system.shape().size_of(field.dimensions));
  return numbers * sizeof(double);
}

}  // namespace

StateSaves state_saves(const std::string& word) {
  if (word == "all") return StateSaves::all;
  return word == "ends" ? StateSaves::ends : StateSaves::none;
}

std::string word_of(StateSaves saves) {
  if (saves == StateSaves::all) return "all";
  return saves == StateSaves::ends ? "ends" : "none";
}

RunPlan plan_run(const Parameters& options, const System& system, Asked asked) {
  RunPlan plan;
  plan.mode = mode_plan(options);
  plan.course = course_of(options, plan.mode, [&] { return default_end(system); });
  require_countable_steps(plan.mode, plan.course.end, system);
  if (auto* flow = std::get_if<FlowPlan>(&plan.mode))
    complete(*flow, options, system, plan.course.end, asked);
  else if (auto* sde = std::get_if<SdePlan>(&plan.mode))
    complete(*sde, options, system);
  plan.ensemble = has_noise(plan.mode);
  if (plan.ensemble) {
    plan.runs = static_cast<std::size_t>(options.integer("runs"));
    plan.first_run = static_cast<std::size_t>(options.integer("first-run"));
  }
  plan.checkpoint_every = options.real("checkpoint-every");
  if (options.has("state"))
    plan.states = state_saves(options.word("state"));
  else if (bytes_of_states(plan, system) > kMostStates)
    cut_states(plan);
  return plan;
}

bool cell_in_lanes(const FlowPlan& flow, const Parameters& options, const SystemInfo& info,
                   const Parameters& own) {
  const std::string& kernel = options.word("kernel");
  return kernel == "lanes" ||
         (kernel == "auto" && info.flow_in_lanes &&
          supports_flow_lanes(flow.driver.method, flow.may_stop_early) && info.flow_in_lanes(own));
}

double bytes_of_states(const RunPlan& plan, const System& system) {
  if (plan.states != StateSaves::all) return 0;
  return state_bytes(system) * static_cast<double>(plan.schedule().size()) *
         static_cast<double>(plan.runs);
}

void cut_states(RunPlan& plan) {
  plan.states_were_cut = true;
  plan.states = StateSaves::ends;
}

void record(const RunPlan& plan, Parameters& options) {
  if (!options.has("noise-samples"))
    options.resolve("noise-samples", samples_of_noise(options.integer("batch-size")));
  const auto record_kernel = [&](bool lanes) {
    options.resolve("kernel", std::string(lanes ? "lanes" : "scalar"));
  };
  if (const auto* flow = std::get_if<FlowPlan>(&plan.mode)) {
    if (flow->driver.max_step) options.resolve("max-step", *flow->driver.max_step);
    record_kernel(flow->lanes);
  } else if (const auto* sde = std::get_if<SdePlan>(&plan.mode)) {
    options.resolve("dt", sde->driver.dt);
    record_kernel(sde->lanes);
  }
  const Course& course = plan.course;
  options.resolve("t-end", course.end);
  if (course.steps > 0) options.resolve("steps", course.steps);
  if (!course.save_at.empty()) options.resolve("save-at", course.save_at);
  options.resolve("state", word_of(plan.states));
  if (const auto training = training_plan(options); training && training->schedule.ends())
    options.resolve("schedule-length", *training->schedule.ends());
}

}  // namespace popflow
