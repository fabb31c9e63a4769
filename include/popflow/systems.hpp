#pragma once

#include "popflow/catalogue.hpp"

namespace popflow {

/// The systems that ship with popflow (`dynamics/`).
const Catalogue& systems();

}  // namespace popflow
