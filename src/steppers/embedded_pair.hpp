#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "steppers/algebra.hpp"
#include "steppers/dense_output.hpp"
#include "steppers/odeint_state.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// Stepper of a single trajectory for one of odeint's embedded Runge-Kutta pairs
/// (odeint_pairs.hpp).
template <class Method>
class EmbeddedPair : public Stepper {
 public:
  EmbeddedPair(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : rhs_(rhs),
        tolerance_(tolerance),
        method_(Method::template stepper<State, double>(ThreadedAlgebra(workers))),
        first_(tolerance.size()),
        last_(Method::kFirstSameAsLast ? tolerance.size() : 0),
        dense_(Method::dense_output(workers)) {}

  [[nodiscard]] bool adaptive() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    if (!first_known_) rhs_(x, first_, t);
    first_known_ = true;
    last_known_ = Method::kFirstSameAsLast;
    // odeint keeps its stages private, but these calls reveal the arrays of their slopes.
    std::size_t stage = 0;
    stages_[stage++] = &first_;
    const auto slope = [&](const State& at, State& dxdt, double time) {
      stages_[stage++] = &dxdt;
      rhs_(at, dxdt, time);
    };
    StepError error{tolerance_, x, x_new};
    if constexpr (Method::kFirstSameAsLast)
      method_.do_step(std::ref(slope), x, first_, t, x_new, last_, h, error);
    else
      method_.do_step(std::ref(slope), x, first_, t, x_new, h, error);
    return judge(error.value, h, step_factor(error.value, Method::kErrorOrder));
  }

  bool extend(const State& x, double t, double h, const State& x_new, State& scratch) override {
    know_last(t + h, x_new);
    return dense_->prepare(step(x, t, h, x_new), std::ref(rhs_), tolerance_, scratch);
  }
  bool extend_record(const State& x, double t, double h, const State& x_new,
                     State& scratch) override {
    know_last(t + h, x_new);
    return dense_->prepare_record(step(x, t, h, x_new), std::ref(rhs_), tolerance_, scratch);
  }
  void record(const State& x, double h, const State& x_new, double part,
              State& out) const override {
    dense_->record(step(x, 0, h, x_new), part, out);
  }
  [[nodiscard]] int extension_degree() const override { return dense_->degree(); }
  void between(const State& x, double h, const State& x_new, double part,
               State& out) const override {
    dense_->at(step(x, 0, h, x_new), part, out);
  }

  void accept() override {
    if (last_known_) first_.swap(last_);
    first_known_ = last_known_;
  }
  void reset() override { first_known_ = last_known_ = false; }
  [[nodiscard]] std::int64_t known_evaluations() const override { return first_known_ ? 1 : 0; }

 private:
  void know_last(double t_new, const State& x_new) {
    if (last_known_) return;
    last_.resize(x_new.size());
    rhs_(x_new, last_, t_new);
    last_known_ = true;
  }
  [[nodiscard]] DenseOutput::Step step(const State& x, double t, double h,
                                       const State& x_new) const {
    return {x, t, h, x_new, first_, last_, stages_};
  }

  Rhs& rhs_;
  const Tolerance& tolerance_;
  typename Method::template Stepper<State, double, ThreadedAlgebra> method_;
  State first_, last_;                               ///< slopes at the ends of the last attempt
  bool first_known_ = false;                         ///< whether first_ is the slope at x
  bool last_known_ = false;                          ///< whether last_ is the slope at x_new
  std::array<State*, Method::kStages> stages_ = {};  ///< slopes of the last attempt
  std::unique_ptr<DenseOutput> dense_;
};

/// Factory for the table of methods (flow_methods.hpp).
template <class Method>
std::unique_ptr<Stepper> make_pair_stepper(Rhs& rhs, const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<EmbeddedPair<Method>>(rhs, tolerance, workers);
}

}  // namespace popflow
