#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// The orders in the learning rate that a comparison at several of them has found.
std::string describe_orders(const DataFile& file);

}  // namespace popflow
