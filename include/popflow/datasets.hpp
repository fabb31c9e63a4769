#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "popflow/system.hpp"

namespace popflow {

/// Row-major copy of a matrix, for files.
template <class Derived>
std::vector<typename Derived::Scalar> row_major(const Eigen::DenseBase<Derived>& m) {
  using Scalar = typename Derived::Scalar;
  std::vector<Scalar> out(static_cast<std::size_t>(m.size()));
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j)
      out[static_cast<std::size_t>(i * m.cols() + j)] = m(i, j);
  return out;
}

/// A dimensionless dataset without contents.
VariableSpec dataset(std::string name, std::vector<std::string> dimensions, std::string long_name);

/// The dimension described in `info`, with an index as its coordinate.
DimensionSpec dimension(const SystemInfo& info, const std::string& name, std::size_t size);

/// Rounds up to two digits, for default ends, which are no more accurate.
double two_digits(double value);

}  // namespace popflow
