#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "options/run_config.hpp"
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
};

/// Determines these facts for a configuration whose steps are settled. Reads the file that
/// --init-from names; of an ensemble, the run in place `run`. Throws if no system of this name can
/// have such a start.
std::unique_ptr<const Circumstances> settle_circumstances(const RunConfig& config,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run = 0);

/// Makes the System that a configuration describes. Throws if the system refuses.
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 const Circumstances& circumstances);
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run = 0);

}  // namespace popflow
