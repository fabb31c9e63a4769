#pragma once

#include <memory>

#include "popflow/setting.hpp"

namespace popflow::scb {

/// Sparse contextual bigram, one-layer linear transformer (Ren, Wang, Lee, NeurIPS 2024).
const SystemInfo& info();
std::unique_ptr<System> make(const Ingredients& from);

}  // namespace popflow::scb
