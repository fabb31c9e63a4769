#pragma once

#include "popflow/catalogue.hpp"

/// Linear self-attention that learns linear regression in context (Zhang, Frei, Bartlett 2023).
namespace popflow::linear_attention {
CatalogueRow row();
}
