#include "steppers/rosenbrock4.hpp"

#include <algorithm>
#include <boost/numeric/odeint/stepper/rosenbrock4.hpp>
#include <utility>

namespace popflow {

namespace {

namespace odeint = boost::numeric::odeint;

/// RODAS (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.10) with its
/// correct coefficients. Boost 1.74 has the wrong sign in gamma_4, which reduces the order to one
/// for right-hand sides that depend on time.
struct Coefficients : odeint::default_rosenbrock_coefficients<double> {
  const double d4 = -0.3620000000000023e-01;
};

}  // namespace

struct Rosenbrock4::Impl {
  using Method = odeint::rosenbrock4<double, Coefficients>;
  using Vector = Method::state_type;
  using Matrix = Method::matrix_type;

  Impl(std::size_t size, Derivative d, Jacobian j)
      : derivative([f = std::move(d)](const Vector& at, Vector& dxdt, double t) {
          f(&at.data()[0], &dxdt.data()[0], t);
        }),
        jacobian([f = std::move(j)](const Vector& at, Matrix& matrix, double t, Vector& dfdt) {
          f(&at.data()[0], &matrix.data()[0], t, &dfdt.data()[0]);
        }),
        x(size),
        x_new(size),
        error(size) {}

  std::function<void(const Vector&, Vector&, double)> derivative;
  std::function<void(const Vector&, Matrix&, double, Vector&)> jacobian;
  Method method;
  Vector x, x_new, error;
};

Rosenbrock4::Rosenbrock4(std::size_t size, Derivative derivative, Jacobian jacobian)
    : impl_(std::make_unique<Impl>(size, std::move(derivative), std::move(jacobian))) {}

Rosenbrock4::~Rosenbrock4() = default;

void Rosenbrock4::step(const double* x, double t, double h, double* x_new, double* error) {
  std::copy_n(x, impl_->x.size(), impl_->x.begin());
  impl_->method.do_step(std::make_pair(std::ref(impl_->derivative), std::ref(impl_->jacobian)),
                        impl_->x, t, impl_->x_new, h, impl_->error);
  std::copy(impl_->x_new.begin(), impl_->x_new.end(), x_new);
  std::copy(impl_->error.begin(), impl_->error.end(), error);
}

}  // namespace popflow
