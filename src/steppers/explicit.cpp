#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/stepper/euler.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta4.hpp>
#include <functional>

#include "steppers/algebra.hpp"
#include "steppers/dense_output.hpp"
#include "steppers/odeint_state.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

namespace odeint = boost::numeric::odeint;
using Operations = odeint::default_operations;
template <template <class, class, class, class, class, class, class> class Method>
using Of =
    Method<State, double, State, double, ThreadedAlgebra, Operations, odeint::initially_resizer>;

/// Method with a fixed step size: euler, rk4.
template <class Method>
class FixedStep : public Stepper {
 public:
  FixedStep(Rhs& rhs, Workers& workers)
      : rhs_(rhs), workers_(workers), method_(ThreadedAlgebra(workers)) {}

  [[nodiscard]] bool adaptive() const override { return false; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    method_.do_step(std::ref(rhs_), x, t, x_new, h);
    const bool finite = is_state(workers_, x_new);
    return {finite, finite, h};
  }

 protected:
  Rhs& rhs_;
  Workers& workers_;

 private:
  Method method_;
};

/// The classical method of order four.
class RungeKutta4 : public FixedStep<Of<odeint::runge_kutta4>> {
 public:
  RungeKutta4(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : FixedStep(rhs, workers), tolerance_(tolerance), dense_(make_quintic_output(workers)) {}

  bool extend(const State& x, double t, double h, const State& x_new, State& scratch) override {
    for (State* state : {&first_, &last_}) state->resize(x.size());
    rhs_(x, first_, t);
    rhs_(x_new, last_, t + h);
    return dense_->prepare({x, t, h, x_new, first_, last_}, std::ref(rhs_), tolerance_, scratch);
  }

  void between(const State& x, double h, const State& x_new, double part,
               State& out) const override {
    dense_->at({x, 0, h, x_new, first_, last_}, part, out);
  }

 private:
  const Tolerance& tolerance_;
  State first_, last_;  ///< slopes at the ends of the last attempt
  std::unique_ptr<DenseOutput> dense_;
};

/// Euler's method. Its dense output is the line between the step's ends.
class Euler : public FixedStep<Of<odeint::euler>> {
 public:
  using FixedStep::FixedStep;

  bool extend(const State& /*x*/, double /*t*/, double /*h*/, const State& /*x_new*/,
              State& /*scratch*/) override {
    return true;
  }

  void between(const State& x, double /*h*/, const State& x_new, double part,
               State& out) const override {
    out.resize(x.size());
    ThreadedAlgebra(workers_).for_each3(out, x, x_new,
                                        Operations::scale_sum2<double, double>(1 - part, part));
  }
};

/// Euler's method for a System that takes the step in one pass over memory.
class FusedEuler : public Euler {
 public:
  FusedEuler(Rhs& rhs, Workers& workers) : Euler(rhs, workers), event_functions_(rhs.events()) {}

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    const double bound = rhs_.euler_step(x, t, h, x_new, event_functions_);
    // The new state is read once more only if the bound is inconclusive.
    const bool finite = bound <= kLargestEntry || is_state(workers_, x_new);
    return {finite, finite, h};
  }

  [[nodiscard]] std::span<const double> event_functions() const override {
    return event_functions_;
  }

 private:
  std::vector<double> event_functions_;
};

}  // namespace

std::unique_ptr<Stepper> make_rk4(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<RungeKutta4>(rhs, tolerance, workers);
}

std::unique_ptr<Stepper> make_euler(Rhs& rhs, const Tolerance& /*tolerance*/, Workers& workers) {
  if (rhs.has_euler_step()) return std::make_unique<FusedEuler>(rhs, workers);
  return std::make_unique<Euler>(rhs, workers);
}

}  // namespace popflow
