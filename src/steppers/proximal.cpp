#include "steppers/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace popflow {

namespace {

class Splitting : public Stepper {
 public:
  /// `longest`: longest step of the smooth method, if adaptive.
  Splitting(std::unique_ptr<Stepper> smooth, const Proximal& term, const Regime& regime,
            double longest)
      : smooth_(std::move(smooth)), term_(term), regime_(regime), longest_(longest) {}

  [[nodiscard]] bool adaptive() const override { return false; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    smooth_->reset();  // the proximal map has moved the state since the last smooth step
    const Trial trial =
        smooth_->adaptive() ? integrate(x, t, h, x_new) : smooth_->attempt(x, t, h, x_new);
    if (trial.accepted) term_.proximal(x_new, regime_, h);
    return {trial.accepted, trial.finite, h};
  }

 private:
  Trial integrate(const State& x, double t, double h, State& x_new) {
    here_ = x;
    double done = 0;
    double step = h;
    while (done < h) {
      step = std::min({step, longest_, h - done});
      const bool last = step >= h - done;
      if (step <= 4 * std::numeric_limits<double>::epsilon() * std::max(h, std::abs(t)) && !last)
        return {false, false, h};
      const Trial trial = smooth_->attempt(here_, t + done, step, x_new);
      if (trial.accepted) {
        smooth_->accept();
        here_.swap(x_new);
        done = last ? h : done + step;
      }
      step = trial.next;
    }
    x_new = here_;
    return {true, true, h};
  }

  std::unique_ptr<Stepper> smooth_;
  const Proximal& term_;
  const Regime& regime_;
  double longest_;
  State here_;
};

class AdaptiveSplitting : public Stepper {
 public:
  AdaptiveSplitting(std::unique_ptr<Stepper> smooth, const Proximal& term, const Regime& regime,
                    const Tolerance& tolerance, Workers& workers)
      : splitting_(std::move(smooth), term, regime, std::numeric_limits<double>::infinity()),
        tolerance_(tolerance),
        workers_(workers),
        whole_(tolerance.size()),
        middle_(tolerance.size()) {}

  [[nodiscard]] bool adaptive() const override { return true; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    constexpr int order = 2;
    const double half = 0.5 * h;
    const bool taken = splitting_.attempt(x, t, h, whole_).accepted &&
                       splitting_.attempt(x, t, half, middle_).accepted &&
                       splitting_.attempt(middle_, t + half, half, x_new).accepted;
    const double error = taken ? difference(x, x_new) : std::nan("");
    if (!std::isfinite(error)) return {false, false, kAfterNonFinite * h};
    const double next = h * step_factor(error, order);
    if (error > 1) return {false, true, next};
    for (std::size_t i = 0; i < x_new.size(); ++i) x_new[i] = 2 * x_new[i] - whole_[i];
    return {true, true, next};
  }

 private:
  /// Difference between one step and two half steps, in units of the tolerance; not finite if any
  /// value is not finite.
  [[nodiscard]] double difference(const State& x, const State& x_new) const {
    return error_of_step(workers_, tolerance_, x, x_new,
                         [&, this](std::size_t i) { return x_new[i] - whole_[i]; });
  }

  Splitting splitting_;
  const Tolerance& tolerance_;
  Workers& workers_;
  State whole_, middle_;
};

}  // namespace

std::unique_ptr<Stepper> make_adaptive_splitting(std::unique_ptr<Stepper> smooth,
                                                 const Proximal& term, const Regime& regime,
                                                 const Tolerance& tolerance, Workers& workers) {
  return std::make_unique<AdaptiveSplitting>(std::move(smooth), term, regime, tolerance, workers);
}

std::unique_ptr<Stepper> make_splitting(std::unique_ptr<Stepper> smooth, const Proximal& term,
                                        const Regime& regime, double longest) {
  return std::make_unique<Splitting>(std::move(smooth), term, regime, longest);
}

}  // namespace popflow
