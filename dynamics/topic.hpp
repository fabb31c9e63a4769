#pragma once

#include <memory>

#include "popflow/registry.hpp"

namespace popflow::topic {

/// One-layer attention on topic-model data (Li, Li, Risteski, ICML 2023).
const SystemInfo& info();
std::unique_ptr<System> make(Ingredients ingredients);

}  // namespace popflow::topic
