#pragma once

#include <memory>

#include "popflow/catalogue.hpp"
#include "popflow/setting.hpp"

namespace popflow::markov {

/// One-layer transformer on a binary Markov chain, canonical coordinates (Makkuva et al., NeurIPS
/// 2024).
const SystemInfo& info();
std::unique_ptr<System> make(const Ingredients& from);
NewStart new_start();

}  // namespace popflow::markov
