#pragma once

#include <memory>

#include "popflow/setting.hpp"

/// JoMA, joint system: the population flow of one hidden layer and the attention below it (Tian,
/// Wang, Zhang, Chen, Du, ICLR 2024, arXiv 2310.00535).
namespace popflow::joma_joint {

const SystemInfo& info();
std::unique_ptr<System> make(const Ingredients& ingredients);

}  // namespace popflow::joma_joint
