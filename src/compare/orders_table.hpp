#pragma once

#include <string>

#include "popflow/data_file.hpp"

namespace popflow {

/// Describes the orders in the learning rate found by a comparison at several learning rates.
std::string describe_orders(const DataFile& file);

}  // namespace popflow
