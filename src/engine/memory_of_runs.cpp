#include "engine/memory_of_runs.hpp"

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

}  // namespace

double numbers_of_states(const System& system, const ModePlan& mode, std::size_t runs) {
  const auto size = static_cast<double>(system.shape().state_size());
  constexpr double kNoisy = 6;  // states that the drivers of noisy modes hold
  const auto* flow = std::get_if<FlowPlan>(&mode);
  if (flow == nullptr) return kNoisy * size * static_cast<double>(runs);
  const Capability<Switching> switching = system.capabilities().switching;
  const double regime = switching ? static_cast<double>(switching->first_regime().size()) : 0;
  // Locating passages needs dense output.
  const double between =
      system.shape().passages.empty() ? 0 : flow->driver.method->dense_output_states;
  return size * (flow->driver.method->states(size) + between) + 2 * regime;
}

double numbers_of_runs(const System& system, const ModePlan& mode, std::size_t runs) {
  return numbers_of_states(system, mode, runs) +
         numbers_of_sample(system) * samples_of(system, mode) * static_cast<double>(runs);
}

}  // namespace popflow
