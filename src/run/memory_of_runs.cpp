#include "run/memory_of_runs.hpp"

#include "noise/samples.hpp"
#include "run/modes.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

namespace {

/// Samples that a step draws.
double samples_of(const System& system, const Parameters& options) {
  if (options.word("mode") == "sgd")
    return samples_of_step(options.integer("batch-size"), options.integer("svag"));
  const bool drawn = options.word("mode") == "sde" && noise_is_of_samples(options, system);
  return drawn ? static_cast<double>(options.integer("noise-samples")) : 0;
}

}  // namespace

double numbers_of_states(const System& system, const Parameters& options, std::size_t runs) {
  const auto size = static_cast<double>(system.shape().state_size());
  constexpr double kNoisy = 6;  // states that the drivers of noisy modes hold
  if (is_ensemble(options)) return kNoisy * size * static_cast<double>(runs);
  const Capability<Switching> switching = system.capabilities().switching;
  const double regime = switching ? static_cast<double>(switching->first_regime().size()) : 0;
  const FlowMethod& method = flow_method(options.word("method"));
  // Passages are looked for between the ends of a step.
  const double between = system.shape().passages.empty() ? 0 : method.dense_output_states;
  return size * (method.states(size) + between) + 2 * regime;
}

double numbers_of_runs(const System& system, const Parameters& options, std::size_t runs) {
  return numbers_of_states(system, options, runs) +
         kNumbersOfSample * samples_of(system, options) * static_cast<double>(runs);
}

}  // namespace popflow
