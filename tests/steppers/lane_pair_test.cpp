#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "steppers/flow_methods.hpp"
#include "steppers/lane_stepper.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/slopes.hpp"
#include "support/toy_systems.hpp"

// Steps in all SIMD lanes at once, by each method that has lanes.

using namespace popflow;

namespace {

/// Formulas of dx/dt = rate x; each lane has its own rate.
void decay(const LaneSizes& /*sizes*/, const double* of, const double* x, double* out) {
  for (std::size_t l = 0; l < kLanes; ++l) out[l] = of[l] * x[l];
}
const LaneFormulas kDecay{.sizes = {1, 1}, .flow = decay};

/// A pendulum, x0' = x1 and x1' = -sin x0, with a Taylor polynomial instead of the C library's
/// sine.
template <class Number>
void pendulum(const Number& x, const Number& y, Number& dx, Number& dy) {
  const Number square = x * x;
  dx = y;
  dy = -1.0 * x * (1.0 - square * (1.0 / 6 - square * (1.0 / 120)));
}
void pendula(const LaneSizes& /*sizes*/, const double* /*of*/, const double* x, double* out) {
  for (std::size_t l = 0; l < kLanes; ++l) pendulum(x[l], x[kLanes + l], out[l], out[kLanes + l]);
}
const LaneFormulas kPendula{.sizes = {0, 2}, .flow = pendula};

test::Toy pendulum_alone(double x, double y) {
  test::Toy toy;
  toy.start = {x, y};
  toy.rhs = [](StateView at, double, std::span<double> out) {
    pendulum(at[0], at[1], out[0], out[1]);
  };
  return toy;
}

LaneRows all_lanes() {
  LaneRows ones(1);
  for (std::size_t l = 0; l < kLanes; ++l) ones.at(0, l) = 1;
  return ones;
}

std::vector<const FlowMethod*> methods_with_lanes() {
  std::vector<const FlowMethod*> methods;
  for (const FlowMethod& method : flow_methods())
    if (method.has_lanes()) methods.push_back(&method);
  return methods;
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Returns the factor by which a dopri5 step multiplies x, for z = h rate.
double growth(double z) {
  return 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 5)))));
}

}  // namespace

TEST_CASE("the methods with lanes are dopri5, fehlberg78 and verner8", "[fast][steppers][lanes]") {
  std::vector<std::string_view> names;
  for (const FlowMethod* method : methods_with_lanes()) {
    names.push_back(method->name);
    CHECK(method->make_dense_output != nullptr);
  }
  CHECK(names == std::vector<std::string_view>{"dopri5", "fehlberg78", "verner8"});
}

TEST_CASE("lanes take dopri5's steps and choose the next step size by the error",
          "[fast][steppers][lanes]") {
  const auto steps = flow_method("dopri5").make_lanes(kDecay, ErrorNorm::largest);
  // Errors range from far below the tolerance to far above it.
  for (int power = -6; power <= 1; ++power) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      steps->of.at(0, l) = -std::pow(10.0, power) * (1 + static_cast<double>(l) / 2);
      steps->x.at(0, l) = 2;
      steps->tolerance.at(0, l) = 1e-9;
      steps->tolerance.at(1, l) = 0;
      steps->h.at(0, l) = 1;
    }
    steps->begin(all_lanes().data());
    steps->attempt();
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double z = steps->of.at(0, l);
      CAPTURE(power, l, steps->error.at(0, l));
      CHECK(steps->x_new.at(0, l) == Approx(2 * growth(z)).epsilon(1e-12).margin(1e-12));
      CHECK(steps->factor.at(0, l) ==
            Approx(step_factor(steps->error.at(0, l), 5)).epsilon(2e-14).margin(0));
    }
  }
}

TEST_CASE("lanes take and reject the same steps as single trajectories, bit for bit",
          "[fast][steppers][lanes]") {
  for (const FlowMethod* method : methods_with_lanes())
    for (const ErrorNorm norm : {ErrorNorm::largest, ErrorNorm::rms}) {
      const auto lanes = method->make_lanes(kPendula, norm);
      // Two steps: the second one starts with a known slope, or repeats a rejected step.
      for (std::size_t l = 0; l < kLanes; ++l) {
        lanes->x.at(0, l) = 1 + 0.05 * static_cast<double>(l);
        lanes->x.at(1, l) = 0.3;
        for (const std::size_t i : {0, 1}) lanes->tolerance.at(i, l) = 1e-6;
        lanes->tolerance.at(2, l) = 1e-5;
        lanes->h.at(0, l) = 0.2 * static_cast<double>(l + 1);
      }
      Workers workers(1);
      const Regime regime;
      std::vector<std::unique_ptr<test::ToySystem>> systems;
      std::vector<std::unique_ptr<Rhs>> rhs;
      std::vector<std::unique_ptr<Stepper>> alone;
      std::vector<State> x(kLanes, State(2)), x_new(kLanes, State(2));
      std::unique_ptr<Tolerance> tolerance;
      for (std::size_t l = 0; l < kLanes; ++l) {
        systems.push_back(std::make_unique<test::ToySystem>(
            pendulum_alone(lanes->x.at(0, l), lanes->x.at(1, l))));
        rhs.push_back(std::make_unique<Rhs>(*systems[l], regime));
        if (!tolerance)
          tolerance = std::make_unique<Tolerance>(systems[l]->shape().blocks, 1e-5, 1e-6, norm);
        alone.push_back(method->make(*rhs[l], *tolerance, workers));
        systems[l]->start(x[l]);
      }
      lanes->begin(all_lanes().data());
      int accepted = 0;
      for (const int step : {1, 2}) {
        lanes->attempt();
        LaneRows taken(1);
        for (std::size_t l = 0; l < kLanes; ++l) {
          CAPTURE(method->name, step, l);
          const double h = lanes->h.at(0, l);
          const Trial trial = alone[l]->attempt(x[l], 0, h, x_new[l]);
          const double error = lanes->error.at(0, l);
          CHECK(trial.finite);
          CHECK(trial.accepted == (error <= 1));
          for (const std::size_t i : {0, 1}) CHECK(same(lanes->x_new.at(i, l), x_new[l][i]));
          // The power function in lanes is accurate to 1e-14.
          CHECK(lanes->factor.at(0, l) * h == Approx(trial.next).epsilon(2e-14).margin(0));
          taken.at(0, l) = trial.accepted ? 1 : 0;
          accepted += trial.accepted ? 1 : 0;
          if (trial.accepted) {
            alone[l]->accept();
            x[l].swap(x_new[l]);
          }
        }
        lanes->accept(taken.data());
        for (std::size_t l = 0; l < kLanes; ++l) {
          for (const std::size_t i : {0, 1}) CHECK(same(lanes->x.at(i, l), x[l][i]));
          std::vector<double> slope(2);
          systems[l]->rhs({x[l], {}}, 0, slope);
          for (const std::size_t i : {0, 1}) CHECK(same(lanes->slope().at(i, l), slope[i]));
        }
      }
      CHECK(accepted > 2);
      CHECK(accepted < 30);
    }
}

TEST_CASE("methods have the same order in lanes", "[fast][steppers][lanes]") {
  for (const FlowMethod* method : methods_with_lanes()) {
    // Integrates by many short steps.
    const auto reached = [&](double h, int steps) {
      const auto lanes = method->make_lanes(kPendula, ErrorNorm::largest);
      for (std::size_t l = 0; l < kLanes; ++l) {
        lanes->x.at(0, l) = 1;
        lanes->x.at(1, l) = 0.5;
        for (const std::size_t i : {0, 1, 2}) lanes->tolerance.at(i, l) = 1;
        lanes->h.at(0, l) = h;
      }
      lanes->begin(all_lanes().data());
      for (int step = 0; step < steps; ++step) {
        lanes->attempt();
        lanes->accept(all_lanes().data());
      }
      return lanes->x.at(0, 7);
    };
    constexpr double kEnd = 4;
    const double truth = reached(kEnd / 512, 512);
    std::vector<double> lengths, errors;
    for (const int steps : {4, 6, 8, 12}) {
      lengths.push_back(kEnd / steps);
      errors.push_back(std::abs(reached(kEnd / steps, steps) - truth));
    }
    const double order = test::log_log_slope(lengths, errors);
    INFO(method->name << ": " << errors.front() << " ... " << errors.back());
    CHECK(order > method->order - 0.7);
    CHECK(order < method->order + 1.5);
  }
}

TEST_CASE("a non-finite lane has a non-finite error, and a step factor within its bounds",
          "[fast][steppers][lanes]") {
  for (const FlowMethod* method : methods_with_lanes())
    for (const ErrorNorm norm : {ErrorNorm::largest, ErrorNorm::rms}) {
      const auto steps = method->make_lanes(kDecay, norm);
      const double kinds[] = {std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(), 1e300, 0};
      for (std::size_t l = 0; l < kLanes; ++l) {
        steps->of.at(0, l) = kinds[l % 4];
        steps->x.at(0, l) = 1;
        steps->tolerance.at(0, l) = 1e-9;
        steps->h.at(0, l) = 1;
      }
      steps->begin(all_lanes().data());
      steps->attempt();
      for (std::size_t l = 0; l < kLanes; ++l) {
        CAPTURE(method->name, kinds[l % 4]);
        CHECK(std::isfinite(steps->error.at(0, l)) == (kinds[l % 4] == 0));
        CHECK(steps->factor.at(0, l) >= 0.2);
        CHECK(steps->factor.at(0, l) <= 5);
      }
    }
}
