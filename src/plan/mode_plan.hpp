#pragma once

#include <optional>
#include <string>
#include <variant>

#include "noise/sde_methods.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/parameter.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "popflow/system.hpp"
#include "steppers/flow_methods.hpp"

namespace popflow {

/// Value of --kernel.
enum class Kernel { automatic, scalar, lanes };

/// Plan of the population flow.
struct FlowPlan {
  FlowDriver::Options driver = {};  ///< without hooks
  double learning_rate = 0;         ///< of the training rule whose flow it is
  Kernel kernel = Kernel::automatic;
  bool lanes = false;
  bool may_stop_early = false;  ///< whether --stop-when may end the flow
};

/// Plan of the flow with Gaussian noise.
struct SdePlan {
  SdeDriver::Options driver = {};  ///< options of run 0, without hooks
  Kernel kernel = Kernel::automatic;
  bool lanes = false;
};

/// Plan of training on samples.
struct SgdPlan {
  SgdDriver::Options driver = {};  ///< options of run 0, without hooks
};

/// Plan of the dynamics, as far as the options determine it. `lanes` is false until the System is
/// known (plan.hpp).
using ModePlan = std::variant<FlowPlan, SdePlan, SgdPlan>;

/// Makes the plan from options of `run` that complete_run() has completed; does not change them.
ModePlan mode_plan(const Parameters& options);

/// Value of --mode.
std::string mode_of(const ModePlan& mode);

double learning_rate(const ModePlan& mode);

/// Step size of explicit methods without error control; nothing for adaptive ones.
std::optional<double> fixed_step(const ModePlan& mode);

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

}  // namespace popflow
