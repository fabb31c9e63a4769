#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Page about a comparison, from its file alone: per observable the largest
/// deviation from the flow and the end, means with errors, verdicts; and the caveats. Of a
/// comparison of sweeps, how many cells have which verdict.
std::string describe_comparison(const DataFile& file);

}  // namespace popflow
