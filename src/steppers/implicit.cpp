#include <cmath>

#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "steppers/rosenbrock4.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

// The embedded solution is of order 3, so its local error is of order h^4.
constexpr int kErrorOrder = 4;

/// Rosenbrock 4(3), for stiff problems of low dimension: one LU factorisation per step.
class Implicit : public Stepper {
 public:
  Implicit(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : tolerance_(tolerance),
        workers_(workers),
        error_(tolerance.size()),
        method_(
            tolerance.size(),
            [&rhs, this](const double* x, double* dxdt, double t) {
              std::copy_n(x, in_.size(), in_.begin());
              rhs(in_, out_, t);
              std::copy(out_.begin(), out_.end(), dxdt);
            },
            [&rhs, this](const double* x, double* j, double t, double* dfdt) {
              const std::size_t n = in_.size();
              rhs.jacobian({x, n}, t, jacobian_, {dfdt, n});
              Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                  j, jacobian_.rows(), jacobian_.cols()) = jacobian_;
            }),
        in_(tolerance.size()),
        out_(tolerance.size()),
        jacobian_(tolerance.size(), tolerance.size()) {}

  [[nodiscard]] bool adaptive() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    method_.step(x.data(), t, h, x_new.data(), error_.data());
    const double error =
        error_of_step(workers_, tolerance_, x, x_new, [this](std::size_t i) { return error_[i]; });
    return judge(error, h, step_factor(error, kErrorOrder));
  }

 private:
  const Tolerance& tolerance_;
  Workers& workers_;
  State error_;
  Rosenbrock4 method_;
  State in_, out_;
  Eigen::MatrixXd jacobian_;
};

}  // namespace

std::unique_ptr<Stepper> make_rosenbrock4(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  if (!rhs.has_jacobian()) {
    const std::string& why = rhs.has_jacobian().why_not();
    throw UsageError("--method rosenbrock4 needs a Jacobian; " +
                     (why.empty() ? rhs.name() + " has none" : why));
  }
  require_memory(
      2.0 * static_cast<double>(tolerance.size()) * static_cast<double>(tolerance.size()),
      "--method rosenbrock4: the Jacobian of " + std::to_string(tolerance.size()) + " variables");
  return std::make_unique<Implicit>(rhs, tolerance, workers);
}

}  // namespace popflow
