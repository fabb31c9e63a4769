#include <array>
#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/stepper/euler.hpp>
#include <boost/numeric/odeint/stepper/explicit_error_generic_rk.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta4.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>
#include <cmath>
#include <functional>

#include "steppers/algebra.hpp"
#include "steppers/dopri5_tableau.hpp"
#include "steppers/extension.hpp"
#include "steppers/odeint_state.hpp"
#include "steppers/refined_extension.hpp"
#include "steppers/stepper.hpp"
#include "steppers/verner8_tableau.hpp"
#include "steppers/within_step.hpp"

namespace popflow {

namespace {

namespace odeint = boost::numeric::odeint;
using Operations = odeint::default_operations;
template <template <class, class, class, class, class, class, class> class Method>
using Of =
    Method<State, double, State, double, ThreadedAlgebra, Operations, odeint::initially_resizer>;

Trial judge(const StepError& error, double h, int order) {
  if (!std::isfinite(error.value)) return {false, false, kAfterNonFinite * h};
  return {error.value <= 1, true, h * step_factor(error.value, order)};
}

/// Dormand-Prince 5(4) with its last stage kept as the next step's first.
class Dopri5 : public Stepper {
 public:
  Dopri5(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : rhs_(rhs),
        tolerance_(tolerance),
        workers_(workers),
        method_(ThreadedAlgebra(workers)),
        dxdt_(tolerance.size()),
        dxdt_new_(tolerance.size()) {}

  [[nodiscard]] bool adaptive() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    if (!known_) rhs_(x, dxdt_, t);
    known_ = true;
    StepError error{tolerance_, x, x_new};
    method_.do_step(std::ref(rhs_), x, dxdt_, t, x_new, dxdt_new_, h, error);
    return judge(error, h, dopri5::kErrorOrder);
  }

  bool extend(const State& x, double t, double h, const State& x_new, State& scratch) override {
    // The method's own extension errs by h^5, more than its steps do. But derivatives at two points
    // of it err by no more, and weigh h times: with what is known of the ends they make a
    // polynomial of degree five that errs by h^6 (Enright, Jackson, Norsett, Thomsen 1986).
    scratch.resize(x.size());
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      inner_[i].resize(x.size());
      method_.calc_state(kQuinticPlaces[i] * h, scratch, x, dxdt_, 0.0, x_new, dxdt_new_, h);
      rhs_(scratch, inner_[i], t + kQuinticPlaces[i] * h);
    }
    return true;
  }

  void between(const State& x, double h, const State& x_new, double part,
               State& out) const override {
    within_step::quintic(workers_, x, h, x_new, dxdt_, inner_, dxdt_new_, part, out);
  }

  void accept() override { dxdt_.swap(dxdt_new_); }
  void reset() override { known_ = false; }
  [[nodiscard]] std::int64_t known_evaluations() const override { return known_ ? 1 : 0; }

 private:
  Rhs& rhs_;
  const Tolerance& tolerance_;
  Workers& workers_;
  Of<odeint::runge_kutta_dopri5> method_;
  State dxdt_, dxdt_new_;
  std::array<State, 2> inner_;  ///< derivatives at kQuinticPlaces of the last attempt
  bool known_ = false;          // dxdt_ is the derivative at x
};

/// A pair of orders seven and eight, with 13 stages. `Pair` has the method of Odeint's, and says
/// which of its stages have slopes at kSepticPlaces that err by h^5.
template <class Pair>
class OrderEight : public Stepper {
 public:
  OrderEight(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : rhs_(rhs),
        tolerance_(tolerance),
        method_(Pair::method(ThreadedAlgebra(workers))),
        dxdt_(tolerance.size()),
        extension_(rhs, tolerance, workers) {}

  [[nodiscard]] bool adaptive() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    if (!known_) rhs_(x, dxdt_, t);
    known_ = true;
    last_known_ = false;
    StepError error{tolerance_, x, x_new};
    // Odeint keeps its stages to itself, but here is where their slopes are.
    std::size_t stage = 1;
    const auto stages = [&](const State& at, State& slope, double time) {
      slopes_[stage++] = &slope;
      rhs_(at, slope, time);
    };
    method_.do_step(std::ref(stages), x, dxdt_, t, x_new, h, error);
    return judge(error, h, kErrorOrder);
  }

  bool extend(const State& x, double t, double h, const State& x_new, State& scratch) override {
    last_.resize(x.size());
    rhs_(x_new, last_, t + h);
    last_known_ = true;
    const RefinedExtension::Step step{x, t, h, x_new, dxdt_, last_};
    if constexpr (requires { Pair::kSepticStages; }) {
      std::array<State*, kSepticPlaces.size()> inner;
      for (std::size_t i = 0; i < inner.size(); ++i) inner[i] = slopes_[Pair::kSepticStages[i]];
      extension_.begin(inner);
    } else {
      extension_.begin(step, scratch);
    }
    return extension_.refine(step, scratch);
  }
  [[nodiscard]] int extension_degree() const override { return RefinedExtension::kDegree; }
  void between(const State& x, double h, const State& x_new, double part,
               State& out) const override {
    extension_.between(x, h, x_new, dxdt_, last_, part, out);
  }

  void accept() override {
    if (last_known_) dxdt_.swap(last_);
    known_ = last_known_;
  }
  void reset() override { known_ = last_known_ = false; }
  [[nodiscard]] std::int64_t known_evaluations() const override { return known_ ? 1 : 0; }

 private:
  static constexpr std::size_t kStages = 13;
  static constexpr int kErrorOrder = 8;  ///< of the local error that is estimated, as in odeint
  Rhs& rhs_;
  const Tolerance& tolerance_;
  typename Pair::Method method_;
  State dxdt_, last_;                        ///< derivatives at the ends of the last attempt
  bool known_ = false;                       ///< dxdt_ is the derivative at x
  bool last_known_ = false;                  ///< and last_ that at x_new
  std::array<State*, kStages> slopes_ = {};  ///< of stages but the first
  RefinedExtension extension_;
};

/// Runge-Kutta-Fehlberg 7(8).
struct Fehlberg78 {
  using Method = Of<odeint::runge_kutta_fehlberg78>;
  static Method method(const ThreadedAlgebra& algebra) { return Method(algebra); }
  static constexpr std::array<std::size_t, 4> kSepticStages = {7, 9, 8, 6};
};

/// Verner's efficient pair 8(7).
struct Verner8 {
  using Method =
      odeint::explicit_error_generic_rk<13, 8, 8, 7, State, double, State, double, ThreadedAlgebra,
                                        Operations, odeint::initially_resizer>;
  static Method method(const ThreadedAlgebra& algebra) {
    return Method(verner8::kCoefficients, verner8::kWeights, verner8::kErrorWeights,
                  verner8::kPlaces, algebra);
  }
};

/// A method of fixed step: euler, rk4.
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
  using FixedStep::FixedStep;

  bool extend(const State& x, double t, double h, const State& x_new, State& scratch) override {
    // Hermite's cubic through both ends errs by h^4, and derivatives at points of it, which weigh h
    // times, make a polynomial that errs by h^5, as the step does.
    for (State* state : {&first_, &last_}) state->resize(x.size());
    rhs_(x, first_, t);
    rhs_(x_new, last_, t + h);
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      const double part = kQuinticPlaces[i];
      inner_[i].resize(x.size());
      within_step::cubic(workers_, x, h, x_new, first_, last_, part, scratch);
      rhs_(scratch, inner_[i], t + part * h);
    }
    return true;
  }

  void between(const State& x, double h, const State& x_new, double part,
               State& out) const override {
    within_step::quintic(workers_, x, h, x_new, first_, inner_, last_, part, out);
  }

 private:
  State first_, last_;          ///< derivatives at the ends of the last attempt
  std::array<State, 2> inner_;  ///< and at kQuinticPlaces
};

/// Euler's method. A part of its step lies on the line between the step's ends.
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

/// The same where the System takes its step in one pass over memory.
class FusedEuler : public Euler {
 public:
  FusedEuler(Rhs& rhs, Workers& workers) : Euler(rhs, workers), event_functions_(rhs.events()) {}

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    const double bound = rhs_.euler_step(x, t, h, x_new, event_functions_);
    // Only where the bound does not tell is the new state read once more.
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

std::unique_ptr<Stepper> make_dopri5(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<Dopri5>(rhs, tolerance, workers);
}

std::unique_ptr<Stepper> make_fehlberg78(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<OrderEight<Fehlberg78>>(rhs, tolerance, workers);
}

std::unique_ptr<Stepper> make_verner8(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<OrderEight<Verner8>>(rhs, tolerance, workers);
}

std::unique_ptr<Stepper> make_rk4(Rhs& rhs, const Tolerance& /*tolerance*/, Workers& workers) {
  return std::make_unique<RungeKutta4>(rhs, workers);
}

std::unique_ptr<Stepper> make_euler(Rhs& rhs, const Tolerance& /*tolerance*/, Workers& workers) {
  if (rhs.has_euler_step()) return std::make_unique<FusedEuler>(rhs, workers);
  return std::make_unique<Euler>(rhs, workers);
}

}  // namespace popflow
