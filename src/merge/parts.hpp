#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/status.hpp"
#include "file/stored_file.hpp"

namespace popflow {

/// What is known of a file with a part of an ensemble while it is closed.
struct Part {
  std::string path;
  std::int64_t first = 0;  ///< number of its first run
  std::size_t runs = 0;
  std::string message;                ///< how it ended, in words; empty: interrupted
  std::vector<std::int64_t> status;   ///< of each run
  std::vector<double> diverged_at;    ///< likewise
  std::vector<std::int64_t> outcome;  ///< likewise; empty where the system has none

  [[nodiscard]] std::int64_t end() const { return first + static_cast<std::int64_t>(runs); }
  /// Has run number `run` of the ensemble, which is in it, ended?
  [[nodiscard]] bool ended(std::int64_t run) const {
    return !is(status[static_cast<std::size_t>(run - first)], Status::missing);
  }
};

/// Reads it, and refuses what is no part: InputError.
Part read_part(const StoredFile& file);

/// How many rows along its first axis a variable has for each run; 0 if all runs share it. A layout
/// has `runs` runs.
std::size_t rows_of_a_run(const PlacedVariable& variable, std::size_t runs);

/// Numbers of all the rows of a run together.
std::size_t numbers_of_a_run(const PlacedVariable& variable, std::size_t runs);

/// InputError unless two files are of one ensemble: system, mode, options, layout. Names the first
/// thing in which they differ.
void require_same_ensemble(const StoredFile& first, const StoredFile& other);

/// The layout of `runs` runs from number `first_run` on, made from that of some of them: its
/// dimensions, and the group `parameters`.
GroupSpec resized(GroupSpec layout, std::int64_t first_run, std::size_t runs);

}  // namespace popflow
