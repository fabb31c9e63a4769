#pragma once

#include "popflow/catalogue.hpp"

/// Deep linear networks, which learn a linear map mode by mode (Saxe, McClelland, Ganguli 2013).
namespace popflow::deep_linear {
CatalogueRow row();
}
