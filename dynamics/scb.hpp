#pragma once

#include <memory>

#include "popflow/registry.hpp"

namespace popflow::scb {

/// Sparse contextual bigram, one-layer linear transformer (Ren, Wang, Lee, NeurIPS 2024).
const SystemInfo& info();
std::unique_ptr<System> make(Ingredients ingredients);

}  // namespace popflow::scb
