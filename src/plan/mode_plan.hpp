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

/// Plan of the population flow.
struct FlowPlan {
  const FlowMethod* method = nullptr;
  FlowDriver::Options driver = {};  ///< without hooks
  bool lanes = false;
  bool may_stop_early = false;  ///< whether --stop-when may end the flow
};

/// Plan of the flow with Gaussian noise.
struct SdePlan {
  const SdeMethod* method = nullptr;
  SdeDriver::Options driver = {};  ///< options of run 0, without hooks
  bool lanes = false;
};

/// Plan of training on samples.
struct SgdPlan {
  SgdDriver::Options driver = {};  ///< options of run 0, without hooks
};

/// Plan of the dynamics, as far as the options determine it. `lanes` is false until the System is
/// known (run_plan.hpp).
using ModePlan = std::variant<FlowPlan, SdePlan, SgdPlan>;

/// Makes the plan from options of `run` that complete_run() has completed; does not change them.
ModePlan mode_plan(const Parameters& options);

/// Default number of samples from which noise is drawn.
std::int64_t samples_of_noise(std::int64_t batch_size);

/// Value of --mode.
std::string mode_of(const ModePlan& mode);

/// Whether runs differ by their noise.
bool has_noise(const ModePlan& mode);

// The next two functions also accept options that have not been completed.
bool has_noise(const Parameters& options);
/// Whether time is counted in whole steps.
bool counts_steps(const Parameters& options);

/// Flow time of a step if time is counted in whole steps (SGD, noisy gradient descent); otherwise
/// 0.
double step_length(const ModePlan& mode);

/// Whether the noise is drawn from samples rather than from a known covariance.
bool draws_noise(const SdePlan& sde, const System& system);

/// Setting of the run, from which a System is made. `start` is the start that --init-from names, or
/// null.
Setting setting_of(const ModePlan& mode, const Parameters& options, const LastState* start);

}  // namespace popflow
