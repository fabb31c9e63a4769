#include "steppers/proximal.hpp"

#include <algorithm>
#include <limits>

namespace popflow {

namespace {

class Proximal : public Stepper {
 public:
  Proximal(std::unique_ptr<Stepper> smooth, const System& system)
      : smooth_(std::move(smooth)), system_(system) {}

  [[nodiscard]] bool adaptive() const override { return false; }

  Trial attempt(const State& x, double t, double h, State& x_new) override {
    smooth_->reset();  // the proximal map has moved the state since the last smooth step
    const Trial trial =
        smooth_->adaptive() ? integrate(x, t, h, x_new) : smooth_->attempt(x, t, h, x_new);
    if (trial.accepted) system_.proximal(x_new, h);
    return {trial.accepted, trial.finite, h};
  }

 private:
  Trial integrate(const State& x, double t, double h, State& x_new) {
    here_ = x;
    double done = 0;
    double step = h;
    while (done < h) {
      step = std::min(step, h - done);
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
  const System& system_;
  State here_;
};

}  // namespace

std::unique_ptr<Stepper> make_proximal(std::unique_ptr<Stepper> smooth, const System& system) {
  return std::make_unique<Proximal>(std::move(smooth), system);
}

}  // namespace popflow
