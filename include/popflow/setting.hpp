#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "popflow/parameter.hpp"
#include "popflow/state.hpp"
#include "popflow/state_view.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// The last state of another run of the same system, from which `--init-from` starts.
struct LastState {
  std::string path;  ///< the file it was read from, for messages
  std::unique_ptr<System> system;
  State x;
  Regime regime;
  double t = 0;  ///< since the start of the first of the runs that continue one another

  [[nodiscard]] StateView view() const { return {x, regime}; }
};

/// All that a System knows about the run it is made for. Settled before the System is made; when
/// and how the run ends is settled afterwards, with the System's help.
struct Setting {
  bool noisy = false;  ///< the state is moved by noise or samples, not along the flow
  /// Step size of explicit methods without error control; none: the step size is adaptive.
  std::optional<double> step = {};
  std::optional<double> dt = {};            ///< `--dt` of a flow, whatever its method takes it for
  std::optional<std::string> problem = {};  ///< path of a problem file
  std::uint64_t problem_seed = 1;           ///< of drawn problems and random starts
  const LastState* start = nullptr;         ///< instead of the system's own start
};

/// What a System is made from. Sizes found in a problem file, and defaults that depend on the
/// problem, are resolved into `own`.
struct Ingredients {
  Parameters& own;
  const Setting& setting;
  Workers& workers;
};

/// A System, and its own parameters as they were resolved when it was made.
struct Made {
  std::unique_ptr<System> system;
  Parameters own;
};

/// Throws InputError unless the state that the setting starts from, if there is one, is laid out in
/// `blocks`; then returns that state, else null. For systems that can only start from a complete
/// state.
const LastState* whole_start(const Setting& setting, const std::vector<StateBlock>& blocks);

}  // namespace popflow
