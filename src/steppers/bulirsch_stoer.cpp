#include <algorithm>
#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/algebra/range_algebra.hpp>
#include <boost/numeric/odeint/stepper/bulirsch_stoer.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "steppers/odeint_state.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

namespace odeint = boost::numeric::odeint;

/// Error norms of the orders tried in the current attempt, from the second order on. Global,
/// because odeint constructs its algebra itself; an attempt stays on one thread.
thread_local std::vector<double> errors_of_orders;

struct LargestAlgebra : odeint::range_algebra {
  static double norm_inf(const State& errors) {
    return errors_of_orders.emplace_back(odeint::range_algebra::norm_inf(errors));
  }
};

/// Replaces the maximum of all errors by their root mean square.
struct MeanSquareAlgebra : odeint::range_algebra {
  static double norm_inf(const State& errors) {
    const double squares =
        sum_of_squares(0, errors.size(), [&](std::size_t i) { return errors[i]; });
    return errors_of_orders.emplace_back(std::sqrt(squares / static_cast<double>(errors.size())));
  }
};

/// Error that is left after the last order, if the orders continue to converge at the last rate.
/// The estimate of order k is the last difference of its row of the extrapolation table. The
/// estimate of the previous order is (k + 1)^2 times as large, because odeint's step numbers are 2,
/// 4, 6, ... If the orders converge slowly, because the step is long for the flow, the estimate of
/// the last order alone is far too small.
double error_left() {
  const std::size_t k = errors_of_orders.size();
  if (k < 2) return 0;
  const auto difference = [](std::size_t order) {
    const auto rows = static_cast<double>(order + 1);
    return rows * rows * errors_of_orders[order - 1];
  };
  const double last = difference(k);
  const double ratio = last / difference(k - 1);
  if (!(last > 0)) return 0;
  return ratio < 1 ? last * ratio / (1 - ratio) : std::numeric_limits<double>::infinity();
}

/// odeint's Bulirsch-Stoer method: extrapolation of variable order. odeint has a single absolute
/// tolerance, so the method works on entries divided by their natural scale. The algebra defines
/// the norm.
template <class Algebra>
class BulirschStoer : public Stepper {
 public:
  BulirschStoer(Rhs& rhs, const Tolerance& tolerance, Workers& workers)
      : rhs_(rhs),
        tolerance_(tolerance),
        workers_(workers),
        method_(method()),
        y_(tolerance.size()),
        y_new_(tolerance.size()),
        dydt_(tolerance.size()),
        x_(tolerance.size()) {}

  [[nodiscard]] bool adaptive() const override { return true; }
  [[nodiscard]] bool variable_order() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    if (factor_ != tolerance_.factor()) method_ = method();
    const auto scaled_rhs = [this](const State& y, State& dydt, double time) {
      rescale(y, x_, 1);
      rhs_(x_, dydt, time);
      rescale(dydt, dydt, -1);
    };
    rescale(x, y_, -1);
    if (!known_) scaled_rhs(y_, dydt_, t);
    known_ = true;
    double time = t;
    double next = h;
    errors_of_orders.clear();
    const bool accepted =
        method_.try_step(std::ref(scaled_rhs), y_, dydt_, time, y_new_, next) == odeint::success;
    rescale(y_new_, x_new, 1);
    // odeint accepts a step with a NaN.
    const bool finite = std::isfinite(next) && is_state(workers_, x_new);
    if (!finite) return {false, false, kAfterNonFinite * h};
    constexpr double kMost = 0.1;  // the ratio is only a rough estimate
    if (const double left = error_left(); accepted && left > kMost) {
      const auto order = static_cast<int>(2 * errors_of_orders.size() + 1);
      method_.reset();
      return {false, true, h * std::min(0.7, step_factor(left / kMost, order))};
    }
    // If the estimates of different orders disagree, odeint proposes the same step forever.
    if (!accepted && next == h) next = 0.5 * h;
    return {accepted, true, next};
  }

  void accept() override { known_ = false; }
  void reset() override {
    known_ = false;
    method_.reset();
  }
  [[nodiscard]] std::int64_t known_evaluations() const override { return known_ ? 1 : 0; }
  // The order and the record of rejections are private to odeint.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }

 private:
  using Method = odeint::bulirsch_stoer<State, double, State, double, Algebra,
                                        odeint::default_operations, odeint::initially_resizer>;

  Method method() {
    factor_ = tolerance_.factor();
    return Method(tolerance_.atol(), tolerance_.rtol(), 1.0, 0.0);
  }

  void rescale(const State& from, State& to, int power) {
    tolerance_.each_piece(0, from.size(), [&](std::size_t begin, std::size_t end, double scale) {
      const double factor = power > 0 ? scale : 1 / scale;
      for (std::size_t i = begin; i < end; ++i) to[i] = factor * from[i];
    });
  }

  Rhs& rhs_;
  const Tolerance& tolerance_;
  Workers& workers_;
  double factor_ = 1;  // factor of the tolerances that method_ uses
  Method method_;
  State y_, y_new_, dydt_, x_;
  bool known_ = false;
};

}  // namespace

std::unique_ptr<Stepper> make_bulirsch_stoer(Rhs& rhs, const Tolerance& tolerance,
                                             Workers& workers) {
  if (tolerance.norm() == ErrorNorm::rms)
    return std::make_unique<BulirschStoer<MeanSquareAlgebra>>(rhs, tolerance, workers);
  return std::make_unique<BulirschStoer<LargestAlgebra>>(rhs, tolerance, workers);
}

}  // namespace popflow
