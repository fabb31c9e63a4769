#pragma once

#include <Eigen/Core>

namespace popflow::test {

/// Returns df/dh at h = 0 by central differences of order four, which are exact up to rounding for
/// polynomials of degree at most four. f may return a number or a matrix.
template <class F>
auto derivative(F&& f, double h) {
  const auto near = (f(h) - f(-h)).eval();
  const auto far = (f(2 * h) - f(-2 * h)).eval();
  return ((8 * near - far) / (12 * h)).eval();
}

/// Returns the gradient of a scalar function at x.
template <class F>
Eigen::VectorXd gradient(F&& f, const Eigen::VectorXd& x, double h) {
  Eigen::VectorXd result(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const auto along = [&](double step) {
      Eigen::VectorXd moved = x;
      moved[i] += step;
      return Eigen::Matrix<double, 1, 1>(f(moved));
    };
    result[i] = derivative(along, h)(0);
  }
  return result;
}

/// Returns the Jacobian of a vector function at x: (i,j) = df_i/dx_j.
template <class F>
Eigen::MatrixXd jacobian(F&& f, const Eigen::VectorXd& x, double h) {
  Eigen::MatrixXd result(f(x).size(), x.size());
  for (Eigen::Index j = 0; j < x.size(); ++j) {
    result.col(j) = derivative(
        [&](double step) -> Eigen::VectorXd {
          Eigen::VectorXd moved = x;
          moved[j] += step;
          return f(moved);
        },
        h);
  }
  return result;
}

}  // namespace popflow::test
