#include "engine/memory_of_runs.hpp"

#include <algorithm>

#include "flow/inner_steps.hpp"
#include "noise/samples.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

namespace {

/// Number of samples that a step draws.
double samples_of(const System& system, const ModePlan& mode) {
  if (const auto* sgd = std::get_if<SgdPlan>(&mode))
    return samples_of_step(sgd->driver.batch_size, sgd->driver.svag);
  const auto* sde = std::get_if<SdePlan>(&mode);
  return sde != nullptr && draws_noise(*sde, system)
             ? static_cast<double>(sde->driver.noise_samples)
             : 0;
}

/// Number of states for records within the steps of a method.
double states_of_records(const FlowMethod& method, double size) {
  constexpr double kRecord = 1;
  if (method.steps != StepRule::adaptive) return 0;  // steps end at each save time
  // A second stepper, a record and the start of a partial step.
  if (method.needs_jacobian) return method.states(size);
  const FlowMethod& inner = flow_method("verner8");
  // The dense output of lower orders serves every step.
  if (method.order > 0 && method.order < inner.order) return method.dense_output_states + kRecord;
  // The dense output of the method, and that of InnerSteps, which serve its longest steps.
  const double own = method.make_dense_output == nullptr ? 0 : method.dense_output_states;
  return own + inner.states(size) + inner.dense_output_states + kRecord;
}

}  // namespace

double numbers_of_states(const System& system, const ModePlan& mode, std::size_t runs) {
  const auto size = static_cast<double>(system.shape().state_size());
  constexpr double kNoisy = 6;  // states that the drivers of noisy modes hold
  const auto* flow = std::get_if<FlowPlan>(&mode);
  if (flow == nullptr) return kNoisy * size * static_cast<double>(runs);
  const Capability<Switching> switching = system.capabilities().switching;
  const double regime = switching ? static_cast<double>(switching->first_regime().size()) : 0;
  // Locating passages needs dense output, and records within steps need it or further steps.
  const FlowMethod& method = *flow->driver.method;
  const bool recorded =
      !system.capabilities().proximal && system.shape().state_size() <= kLargestExtended;
  const double passed = system.shape().passages.empty() ? 0 : method.dense_output_states;
  const double between = std::max(passed, recorded ? states_of_records(method, size) : 0);
  return size * (method.states(size) + between) + 2 * regime;
}

double numbers_of_runs(const System& system, const ModePlan& mode, std::size_t runs) {
  return numbers_of_states(system, mode, runs) +
         numbers_of_sample(system) * samples_of(system, mode) * static_cast<double>(runs);
}

}  // namespace popflow
