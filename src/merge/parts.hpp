#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "merge/units.hpp"

namespace popflow {

/// A file with a part of an ensemble.
struct Part : FilePart {
  using FilePart::FilePart;
  std::int64_t first = 0;             ///< number of its first run
  std::string message;                ///< how it ended, in words; empty: interrupted
  std::vector<double> diverged_at;    ///< of each run
  std::vector<std::int64_t> outcome;  ///< likewise; empty where the system has none

  [[nodiscard]] std::int64_t end() const {
    return first + static_cast<std::int64_t>(status.size());
  }
};

/// Reads it, and refuses what is no part: InputError. Which places its runs have in the whole is
/// not known yet.
Part read_part(const std::string& path);

/// Has a variable numbers for each run?
bool is_of_runs(const PlacedVariable& variable);

/// InputError unless two files are of one ensemble: system, mode, options, layout. Names the first
/// thing in which they differ.
void require_same_ensemble(const StoredFile& first, const StoredFile& other);

/// The layout of `runs` runs from number `first_run` on, made from that of some of them: its
/// dimensions, and the group `parameters`.
GroupSpec resized(GroupSpec layout, std::int64_t first_run, std::size_t runs);

}  // namespace popflow
