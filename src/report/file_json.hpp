#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Contents of a popflow file as JSON: its attributes; for every group its attributes, dimensions
/// and variables (without their numbers, for which programs read HDF5); for a run its events, by
/// name and time. Numbers that are not finite are null.
std::string file_json(const DataFile& file);

}  // namespace popflow
