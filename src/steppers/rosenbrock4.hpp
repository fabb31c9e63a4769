#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace popflow {

/// odeint's rosenbrock4 behind plain pointers: it uses uBLAS, which Boost 1.74 does not
/// compile as C++20, so its source is C++17 and no other header of the project reaches it.
class Rosenbrock4 {
 public:
  using Derivative = std::function<void(const double* x, double* dxdt, double t)>;
  /// Row-major Jacobian and explicit time derivative.
  using Jacobian = std::function<void(const double* x, double* j, double t, double* dfdt)>;

  Rosenbrock4(std::size_t size, Derivative derivative, Jacobian jacobian);
  ~Rosenbrock4();
  Rosenbrock4(const Rosenbrock4&) = delete;
  Rosenbrock4& operator=(const Rosenbrock4&) = delete;

  /// One step of length h from (t, x): its result, and its error estimate entry by entry.
  void step(const double* x, double t, double h, double* x_new, double* error);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace popflow
