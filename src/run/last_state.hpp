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
/// Of an ensemble, that of the run in place `run` of the file.
LastState load_last_state(const std::string& path, const Catalogue& catalogue, Workers& workers,
                          std::size_t run = 0);

/// Place in the file that --init-from names of the run from which run `number` of an ensemble goes
/// on; none where all start alike. Throws UsageError where that file is an ensemble without a run
/// of that number.
std::optional<std::size_t> place_of_start(const Parameters& options, std::size_t number);

/// What is to be said of the start that --init-from names: of an ensemble, whose runs start where.
/// Empty where that is no question.
std::string said_of_start(const Parameters& options);

/// Warning where a run continues another with the same random numbers; empty if there is none.
std::string warning_of_start(const Parameters& options);

/// What systems are told of the run that they are made for, and the start that it points to.
struct Circumstances {
  Circumstances() = default;
  Circumstances(const Circumstances&) = delete;
  Circumstances& operator=(const Circumstances&) = delete;

  std::optional<LastState> start = {};
  Setting setting = {};
};

/// Those of a configuration whose steps are settled. Reads what --init-from names; of an ensemble,
/// the run in place `run`, here and below. Throws what no
/// system of that name takes.
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
