#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popflow/parameter.hpp"
#include "popflow/state.hpp"
#include "popflow/state_view.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow {

struct UpdateRule;

/// Moments of the optimizer that trained a state.
struct OptimizerState {
  const UpdateRule* rule = nullptr;  ///< null: plain SGD, which has no moments
  /// First moments m, then second moments u if the rule has them; each as long as the state. The
  /// random part that SVAG adds to m is left out.
  std::vector<double> moments;
  double steps = 0;  ///< number of training steps over which the moments were accumulated
};

/// Last state of another run of the same system, from which `--init-from` starts.
struct LastState {
  std::string path;  ///< file of that run, for messages
  std::unique_ptr<System> system;
  State x;
  Regime regime;
  OptimizerState optimizer = {};
  double t = 0;  ///< flow time since the start of the first run in a chain of continued runs

  [[nodiscard]] StateView view() const { return {x, regime}; }
};

/// Everything that a System knows about the run for which it is made. Determined before the System
/// is made; the run's schedule is determined afterwards, with the System's help.
struct Setting {
  bool noisy = false;  ///< whether noise or samples move the state, instead of the flow
  /// Whether the training rule differs from plain SGD by more than its schedule. Its flow then need
  /// not descend the loss.
  bool other_rule = false;
  /// Step size of explicit methods without error control; unset: the step size is adaptive.
  std::optional<double> step = {};
  std::optional<double> dt = {};            ///< `--dt` of a flow; its meaning depends on the method
  std::optional<std::string> problem = {};  ///< path of a problem file
  std::uint64_t problem_seed = 1;           ///< for drawn problems and random starts
  const LastState* start = nullptr;         ///< replaces the system's own start; null: none
};

/// Ingredients of a System. Sizes found in a problem file, and defaults that depend on the problem,
/// are resolved into `own`.
struct Ingredients {
  Parameters& own;
  const Setting& setting;
  Workers& workers;
};

/// A System, and its parameters as resolved when it was made.
struct Made {
  std::unique_ptr<System> system;
  Parameters own;
};

/// Returns the state from which the setting starts, or null if there is none. Throws InputError
/// unless the state is laid out in `blocks`. For systems that can only start from a complete state.
const LastState* whole_start(const Setting& setting, const std::vector<StateBlock>& blocks);

}  // namespace popflow
