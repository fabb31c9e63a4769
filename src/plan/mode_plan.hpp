#pragma once

#include <string>
#include <variant>

#include "noise/sde_methods.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/setting.hpp"
#include "popflow/sgd_driver.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

/// The population flow.
struct FlowPlan {
  const FlowMethod* method = nullptr;
  FlowDriver::Options driver = {};  ///< without hooks
  bool lanes = false;
};

/// The flow with Gaussian noise.
struct SdePlan {
  const SdeMethod* method = nullptr;
  SdeDriver::Options driver = {};  ///< of run 0, without hooks
  bool lanes = false;
};

/// Training on samples.
struct SgdPlan {
  SgdDriver::Options driver = {};  ///< of run 0, without hooks
};

/// How a state is moved: all that the options say of it. `lanes` is false until the System is known
/// (run_plan.hpp).
using ModePlan = std::variant<FlowPlan, SdePlan, SgdPlan>;

/// The options of `run` have been completed (complete_run()); this changes none of them.
ModePlan mode_plan(const Parameters& options);

/// Samples from which noise is drawn, where no option says how many.
std::int64_t samples_of_noise(std::int64_t batch_size);

/// As --mode takes it.
std::string mode_of(const ModePlan& mode);

/// Are there runs that differ by their noise?
bool has_noise(const ModePlan& mode);

// As far as that can be told from options that have not been completed:
bool has_noise(const Parameters& options);
/// Is time counted in whole steps?
bool counts_steps(const Parameters& options);

/// Flow time of a step where time is counted in whole steps (SGD, noisy gradient descent); else 0.
double step_length(const ModePlan& mode);

/// Is the noise drawn as samples are, rather than known?
bool draws_noise(const SdePlan& sde, const System& system);

/// The run as a System knows it. `start` is what --init-from names, or null.
Setting setting_of(const ModePlan& mode, const Parameters& options, const LastState* start);

}  // namespace popflow
