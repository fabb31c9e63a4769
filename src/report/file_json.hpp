#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Contents of a popflow file as JSON:
///
/// - attributes of the file
/// - attributes, dimensions and variables of every group; programs read their numbers by HDF5
/// - for a run its events, by name and time
///
/// Numbers that are not finite are null.
std::string file_json(const DataFile& file);

}  // namespace popflow
