#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "options/run_config.hpp"
#include "plan/plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/setting.hpp"

namespace popflow {

/// Loads the newest intact state of a run's file, with its system, which is rebuilt from the file
/// alone. `run` is the place of a run in an ensemble's file. Throws InputError if `path` is no
/// popflow file, has no intact restart slot, or was written by a program that lays out the state
/// differently.
LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers,
                          std::size_t run = 0);

/// Facts about the run that systems depend on, and the start that these facts refer to.
struct Circumstances {
  Circumstances() = default;
  Circumstances(const Circumstances&) = delete;
  Circumstances& operator=(const Circumstances&) = delete;

  std::optional<LastState> start = {};
  Setting setting = {};

  [[nodiscard]] const LastState* state() const { return start ? &*start : nullptr; }
};

/// Determines these facts for the plan of a system's run. Reads the file that --init-from names; of
/// an ensemble, the run in place `run`. Throws if no system of this name can have such a start.
std::unique_ptr<const Circumstances> settle_circumstances(const std::string& system,
                                                          const Plan& plan,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run = 0);

/// Makes the System of a plan. `own` are the system's own parameters. Throws if the system refuses.
Made make_system(const std::string& system, const Parameters& own, const Plan& plan,
                 const Catalogue& catalogue, Workers& workers, const Circumstances& circumstances);
/// Makes the System that a configuration describes, as above.
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run = 0);

}  // namespace popflow
