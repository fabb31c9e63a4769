#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/setting.hpp"

namespace popflow {

/// The newest intact state in a run's file, with its system, rebuilt from the file alone. Throws
/// InputError if `path` is no popflow file, holds no intact restart slot, or was written by a
/// program whose state is laid out differently.
/// `run` is the place of one of an ensemble's runs in the file.
LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers,
                          std::size_t run = 0);

/// Facts that systems are told of the run that they are made for, and the start they point to.
struct Circumstances {
  Circumstances() = default;
  Circumstances(const Circumstances&) = delete;
  Circumstances& operator=(const Circumstances&) = delete;

  std::optional<LastState> start = {};
  Setting setting = {};
};

/// Settles them for a configuration whose steps are settled. Reads the file that --init-from names,
/// of an ensemble the run in place `run`. Throws what no system of that name takes.
std::unique_ptr<const Circumstances> settle_circumstances(const RunConfig& config,
                                                          const Catalogue& catalogue,
                                                          Workers& workers, std::size_t run = 0);

/// Makes the System that a configuration asks for, under its circumstances. Throws what the system
/// refuses.
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 const Circumstances& circumstances);
Made make_system(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
                 std::size_t run = 0);

}  // namespace popflow
