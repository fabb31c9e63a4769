// Dense output of fehlberg78 compared with steps of the method itself.

#include <cmath>
#include <memory>

#include "steppers/flow_methods.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// A step from t with its dense output, and shorter steps over the same interval.
class Steps {
 public:
  Steps(const Toy& toy, double t, double tolerance)
      : system_(toy),
        rhs_(system_, regime_),
        tolerance_(system_.shape().blocks, tolerance, tolerance),
        whole_(flow_method("fehlberg78").make(rhs_, tolerance_, workers_)),
        part_(flow_method("fehlberg78").make(rhs_, tolerance_, workers_)),
        x_(toy.start.size()),
        x_new_(x_.size()),
        there_(x_.size()),
        t_(t) {
    system_.start(x_);
  }

  /// Takes a step; returns whether it has dense output.
  bool take(double h) {
    h_ = h;
    whole_->attempt(x_, t_, h, x_new_);
    const std::int64_t before = rhs_.evaluations();
    const bool extended = whole_->extend(x_, t_, h, x_new_, scratch_);
    spent_ = rhs_.evaluations() - before;
    return extended;
  }
  /// Returns the number of right-hand sides that the last dense output took.
  [[nodiscard]] std::int64_t spent() const { return spent_; }
  /// Returns the largest difference between dense output and steps of the method from the same
  /// point.
  double difference() {
    double worst = 0;
    for (double part = 0.05; part < 1; part += 0.05) {
      whole_->between(x_, h_, x_new_, part, scratch_);
      part_->reset();
      part_->attempt(x_, t_, part * h_, there_);
      for (std::size_t i = 0; i < x_.size(); ++i)
        worst = std::max(worst, std::abs(scratch_[i] - there_[i]));
    }
    return worst;
  }

 private:
  ToySystem system_;
  Regime regime_;
  Workers workers_ = Workers(1);
  Rhs rhs_;
  Tolerance tolerance_;
  std::unique_ptr<Stepper> whole_, part_;
  State x_, x_new_, there_, scratch_;
  double t_;
  double h_ = 0;
  std::int64_t spent_ = 0;
};

/// Returns a nonlinear pendulum with a force that depends on time.
Toy pendulum() {
  Toy toy;
  toy.start = {1, 0.5};
  toy.rhs = [](auto x, double t, auto out) {
    out[0] = x[1];
    out[1] = std::cos(t) - std::sin(x[0]);
  };
  return toy;
}

}  // namespace

TEST_CASE("the error of fehlberg78's dense output is of order 8, like its error estimate",
          "[fast][steppers]") {
  for (const Toy& toy : {oscillator(), pendulum()})
    for (const double h : {0.8, 0.57, 0.4, 0.28, 0.2}) {
      const double tolerance = 1e-6 * std::pow(h, 8);
      INFO(h);
      Steps steps(toy, 0.3, tolerance);
      REQUIRE(steps.take(h));
      CHECK(steps.difference() < 4 * tolerance);
      CHECK(steps.spent() <= 1 + 4 * 4 + 1);
    }
}

TEST_CASE("fehlberg78's dense output takes fewer right-hand sides for larger tolerances",
          "[fast][steppers]") {
  std::int64_t before = 0;
  for (const double tolerance : {1e-2, 1e-4, 1e-6, 1e-8}) {
    Steps steps(pendulum(), 0.3, tolerance);
    REQUIRE(steps.take(0.4));
    CHECK(steps.difference() < tolerance);
    CHECK(steps.spent() >= before);
    before = steps.spent();
  }
  CHECK(before > 1 + 4 + 1);
}

TEST_CASE("steps too long for fehlberg78's dense output are recognised", "[fast][steppers]") {
  Steps sweeps(oscillator(), 0.3, 1e-8);
  CHECK(!sweeps.take(4));
  // The sweeps converge, but to a polynomial that is not accurate enough.
  Toy wave;
  wave.start = {0};
  wave.rhs = [](auto, double t, auto out) { out[0] = std::cos(3 * t); };
  Steps lacks(wave, 0.3, 1e-8);
  CHECK(!lacks.take(1));
  CHECK(lacks.difference() > 1e-8);
}

}  // namespace popflow::test
