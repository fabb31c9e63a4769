#pragma once

#include <Eigen/Core>

#include "popflow/random.hpp"

namespace popflow {

/// Independent standard normal variates.
inline Eigen::VectorXd normals(RandomStream& random, Eigen::Index size) {
  return Eigen::VectorXd::NullaryExpr(size, [&] { return random.normal(); });
}

}  // namespace popflow
