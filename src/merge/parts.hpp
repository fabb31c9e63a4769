#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "merge/units.hpp"

namespace popflow {

/// File with a part of an ensemble.
struct Part : FilePart {
  using FilePart::FilePart;
  std::int64_t first = 0;             ///< number of its first run
  std::string message;                ///< sentence on how the part ended; empty: interrupted
  std::vector<double> diverged_at;    ///< time for each run
  std::vector<std::int64_t> outcome;  ///< outcome of each run; empty if the system has none

  [[nodiscard]] std::int64_t end() const {
    return first + static_cast<std::int64_t>(status.size());
  }
};

/// Reads a part. Throws InputError if the file is no part of an ensemble. The places of its runs in
/// the whole are not known yet.
Part read_part(const std::string& path);

/// Returns whether a variable has numbers for each run.
bool is_of_runs(const PlacedVariable& variable);

/// Throws InputError, which names the first difference, unless two files agree in system, mode,
/// options and layout, as parts of one ensemble do.
void require_same_ensemble(const StoredFile& first, const StoredFile& other);

/// Returns the layout of `runs` runs from number `first_run` on, made from that of some of them:
/// its dimensions, and the group `parameters`.
GroupSpec resized(GroupSpec layout, std::int64_t first_run, std::size_t runs);

}  // namespace popflow
