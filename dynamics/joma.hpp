#pragma once

#include <memory>

#include "popflow/setting.hpp"

namespace popflow::joma {

/// Integrated dynamics of an MLP layer above attention (Tian et al., ICLR 2024).
const SystemInfo& info();
std::unique_ptr<System> make(const Ingredients& ingredients);

}  // namespace popflow::joma
