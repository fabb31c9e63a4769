#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Describes a comparison's file for people, from the file alone: for each observable the largest
/// deviation from the flow and the end, means with errors, verdicts, and caveats. For a comparison
/// of sweeps: the number of cells with each verdict.
std::string describe_comparison(const DataFile& file);

}  // namespace popflow
