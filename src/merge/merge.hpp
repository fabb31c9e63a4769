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
  bool force = false;          ///< replace an output that exists
  bool allow_missing = false;  ///< of a sweep: cells that no file has are marked missing
  std::string command_line;    ///< as typed, for the file's history
};

/// Puts files that hold parts of one result into one. Throws InputError for files that are none or
/// do not belong together, UsageError for an output that is one of them or exists, OutputError;
/// then nothing is left behind. Interrupted, it leaves nothing either.
ExitCode merge(const MergeOptions& options, const Catalogue& catalogue, Screen& screen);

}  // namespace popflow
