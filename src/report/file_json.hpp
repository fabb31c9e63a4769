#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Contents of a popflow file as JSON: its attributes, and for every group its attributes,
/// dimensions and variables (numbers themselves are for programs that read HDF5); of a run its
/// events, by name and time. Numbers that are not finite are null.
std::string file_json(const DataFile& file);

}  // namespace popflow
