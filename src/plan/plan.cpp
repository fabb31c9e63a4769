#include "plan/plan.hpp"

#include <cmath>
#include <tuple>

#include "flow/flow_lanes.hpp"
#include "noise/samples.hpp"
#include "noise/sde_lanes.hpp"
#include "observed/observed_info.hpp"
#include "plan/training.hpp"
#include "popflow/error.hpp"

namespace popflow {

namespace {

constexpr const char* kStateWords[] = {"all", "ends", "none"};

std::optional<StateSaves> asked_states(const Parameters& options) {
  if (!options.has("state")) return std::nullopt;
  const std::string& word = options.word("state");
  return word == "all" ? StateSaves::all : word == "ends" ? StateSaves::ends : StateSaves::none;
}

/// Length of the rule's steps. Nothing for a flow whose steps are not gradient descent.
std::optional<double> length_of_steps(const ModePlan& mode, const UpdateRule& rule) {
  const auto* flow = std::get_if<FlowPlan>(&mode);
  if (std::holds_alternative<SgdPlan>(mode)) return step_length(mode);
  if (flow == nullptr || rule.has_memory()) return learning_rate(mode);
  const bool is_euler = flow->driver.method->order == 1;
  return is_euler ? flow->driver.dt : std::nullopt;
}

/// Stability limit of the training rule; nothing if none is known.
std::optional<StabilityLimit> stability_limit(const ModePlan& mode,
                                              const std::optional<TrainingPlan>& training) {
  const UpdateRule& rule = training ? *training->rule : update_rules().front();
  std::optional<double> length = length_of_steps(mode, rule);
  if (!length || rule.stability == nullptr) return std::nullopt;
  if (!training) return StabilityLimit{rule.stability(TrainingPlan().numbers) / *length, {}};
  *length *= training->step_factor;
  return StabilityLimit{rule.stability(training->numbers) / *length, training->schedule};
}

/// Whether lanes are used. `any`: the system has lanes; `by_itself`: --kernel auto selects them.
bool uses_lanes(Kernel kernel, bool any, bool by_itself, const std::string& whose) {
  if (kernel == Kernel::lanes && !any)
    throw UsageError("--kernel lanes: no SIMD lanes exist for " + whose + "; use auto or scalar");
  return any && (kernel == Kernel::lanes || (kernel == Kernel::automatic && by_itself));
}

void complete(FlowPlan& flow, const System& system, double end, Context context) {
  const Capabilities can = system.capabilities();
  flow.driver.end = end;
  if (!flow.driver.max_step && std::isfinite(can.longest_step) &&
      flow.driver.method->steps == StepRule::adaptive)
    flow.driver.max_step = can.longest_step;
  const std::string why_not = can.in_lanes ? " with this --method, or with --stop-when"
                              : can.in_lanes.why_not().empty()
                                  ? ""
                                  : " (" + can.in_lanes.why_not() + ")";
  flow.lanes =
      uses_lanes(flow.kernel, has_flow_lanes(system, flow.driver.method, flow.may_stop_early),
                 context == Context::in_sweep, "the flow of " + system.info().name + why_not);
}

void complete(SdePlan& sde, const System& system) {
  sde.lanes = uses_lanes(sde.kernel, has_noisy_lanes(system, sde.driver), true,
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

Plan plan_of(const Parameters& options) {
  Plan plan;
  if (options.has("problem")) plan.problem.file = options.word("problem");
  plan.problem.seed = static_cast<std::uint64_t>(options.integer("problem-seed"));
  if (options.has("init-from")) plan.problem.start = options.word("init-from");
  plan.mode = mode_plan(options);
  plan.training = training_plan(options, plan.mode);
  plan.observation = observation_of(options);
  if (plan.observation.sharpness)
    plan.observation.limit = stability_limit(plan.mode, plan.training);
  if (plan.training && !plan.training->schedule.is_constant())
    plan.observation.rate = {learning_rate(plan.mode), plan.training->schedule};
  plan.course.asked = options;
  plan.ensemble.is_one = has_noise(plan.mode);
  if (plan.ensemble.is_one) {
    plan.ensemble.runs = static_cast<std::size_t>(options.integer("runs"));
    plan.ensemble.first_run = static_cast<std::size_t>(options.integer("first-run"));
  }
  plan.output.asked_states = asked_states(options);
  plan.output.checkpoint_every = options.real("checkpoint-every");
  return plan;
}

Setting setting_of(const Plan& plan, const LastState* start) {
  Setting setting;
  setting.noisy = has_noise(plan.mode);
  setting.other_rule =
      plan.training && (plan.training->rule->has_memory() || plan.training->is_whole());
  setting.step = fixed_step(plan.mode);
  if (const auto* flow = std::get_if<FlowPlan>(&plan.mode)) setting.dt = flow->driver.dt;
  setting.problem = plan.problem.file;
  setting.problem_seed = plan.problem.seed;
  setting.start = start;
  return setting;
}

bool make_same_system(const Plan& a, const Plan& b) {
  const auto facts = [](const Setting& setting) {
    // Names every member, so that a new one does not compile until it is compared here.
    const auto& [noisy, other_rule, step, dt, problem, problem_seed, start] = setting;
    return std::tuple(noisy, other_rule, step, dt, problem, problem_seed, start);
  };
  return facts(setting_of(a, nullptr)) == facts(setting_of(b, nullptr)) && a.problem == b.problem &&
         a.training == b.training && a.observation == b.observation;
}

Plan completed(Plan plan, const System& system, const LastState* start, Context context) {
  plan.course = course_of(
      plan.course.asked, plan.mode,
      [&] { return default_end(system, plan.training, has_noise(plan.mode)); },
      system.first_stage_time());
  require_countable_steps(plan.mode, plan.course.end, system);
  if (auto* flow = std::get_if<FlowPlan>(&plan.mode))
    complete(*flow, system, plan.course.end, context);
  else if (auto* sde = std::get_if<SdePlan>(&plan.mode))
    complete(*sde, system);
  if (plan.training && plan.training->steps_of_file && start != nullptr)
    plan.training->numbers.steps_before = start->optimizer.steps;
  if (plan.output.asked_states)
    plan.output.states = *plan.output.asked_states;
  else if (bytes_of_states(plan, system) > kMostStates)
    cut_states(plan);
  return plan;
}

bool cell_in_lanes(const FlowPlan& flow, const SystemInfo& info, const Parameters& own) {
  return flow.kernel == Kernel::lanes ||
         (flow.kernel == Kernel::automatic && info.flow_in_lanes &&
          supports_flow_lanes(flow.driver.method, flow.may_stop_early) && info.flow_in_lanes(own));
}

double bytes_of_states(const Plan& plan, const System& system) {
  if (plan.output.states != StateSaves::all) return 0;
  return state_bytes(system) * static_cast<double>(plan.schedule().size()) *
         static_cast<double>(plan.ensemble.runs);
}

void cut_states(Plan& plan) {
  plan.output.states_were_cut = true;
  plan.output.states = StateSaves::ends;
}

void record(const Plan& plan, Parameters& options) {
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
  if (options.word("save-spacing") == "auto") options.resolve("save-spacing", course.asked.spacing);
  if (course.log_was_chosen && !options.has("save-first"))
    options.resolve("save-first", *course.asked.first_save);
  options.resolve("state", std::string(kStateWords[static_cast<int>(plan.output.states)]));
  if (!plan.training) return;
  if (const auto end = plan.training->schedule.ends()) options.resolve("schedule-length", *end);
  if (plan.training->variance)
    options.resolve("variance-samples", plan.training->variance->samples);
  // The age of the moments is stored, because a resumed run does not read the file of --init-from.
  if (plan.training->moments_of_file)
    options.resolve("optimizer-steps", plan.training->numbers.steps_before);
}

}  // namespace popflow
