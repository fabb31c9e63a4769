#pragma once

#include <string>
#include <vector>

#include "compare/finished.hpp"
#include "popflow/data_file.hpp"

namespace popflow {

/// Compares finished sweeps (`--record series`) with the same axes cell by cell, into one file with
/// verdicts and statistics as maps: where does one rung describe the other? Throws UsageError,
/// InputError, OutputError.
ExitCode compare_sweeps(const std::vector<FinishedFile>& files, const Parameters& options,
                        const std::string& command_line, const Catalogue& catalogue,
                        Screen& screen);

/// Of such a file, in words, how many cells have which verdict.
std::string describe_verdicts(const DataFile& file);

}  // namespace popflow
