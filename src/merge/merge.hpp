#pragma once

#include <string>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "text/screen.hpp"

namespace popflow {

/// Options of `merge`.
struct MergeOptions {
  std::vector<std::string> files;  ///< in the order given; at least one
  std::string output;
  bool force = false;          ///< replace an existing output
  bool allow_missing = false;  ///< for sweeps: mark cells that are in no file as missing
  std::string command_line;    ///< as typed, for the file's history
};

/// Merges files with parts of one result into one file. Throws InputError for files that are no
/// parts or do not belong together, UsageError for an output that exists or is one of the files,
/// OutputError. After an error or an interruption nothing is left behind.
ExitCode merge(const MergeOptions& options, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
