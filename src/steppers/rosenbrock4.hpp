#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace popflow {

/// odeint's rosenbrock4 behind plain pointers. odeint uses uBLAS, which does not compile as C++20
/// in Boost 1.74. The source of this class is therefore C++17 and includes no other header of the
/// project.
class Rosenbrock4 {
 public:
  using Derivative = std::function<void(const double* x, double* dxdt, double t)>;
  /// Computes the row-major Jacobian and the explicit time derivative.
  using Jacobian = std::function<void(const double* x, double* j, double t, double* dfdt)>;

  Rosenbrock4(std::size_t size, Derivative derivative, Jacobian jacobian);
  ~Rosenbrock4();
  Rosenbrock4(const Rosenbrock4&) = delete;
  Rosenbrock4& operator=(const Rosenbrock4&) = delete;

  /// Takes one step of length h from (t, x); writes the result and the error estimate of each
  /// entry.
  void step(const double* x, double t, double h, double* x_new, double* error);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace popflow
