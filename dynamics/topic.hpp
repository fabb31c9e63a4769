#pragma once

#include <memory>

#include "popflow/setting.hpp"

namespace popflow::topic {

/// One-layer attention on topic-model data (Li, Li, Risteski, ICML 2023).
const SystemInfo& info();
std::unique_ptr<System> make(const Ingredients& from);

}  // namespace popflow::topic
