// The discrete rules against PyTorch's, step by step on its gradients; the flows against the rules at
// small rates; schedules.

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/source_folder.hpp"
#include "support/toy_systems.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "training/trained.hpp"

namespace popflow::test {
namespace {

std::unique_ptr<System> trained(Toy toy, TrainingPlan plan) {
  return std::make_unique<Trained>(std::make_unique<ToySystem>(std::move(toy)), std::move(plan));
}

TEST_CASE("every rule takes PyTorch's steps", "[fast][training]") {
  std::ifstream file(source_file("data/reference/optimizers.txt"));
  std::vector<double> start(4);
  std::vector<std::vector<double>> gradients;
  std::unique_ptr<System> system;
  std::vector<double> x;
  double rate = 0;
  int checked = 0;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "start") {
      for (double& number : start) words >> number;
    } else if (kind == "gradient") {
      int number = 0;
      words >> number;
      gradients.emplace_back(4);
      for (double& entry : gradients.back()) words >> entry;
    } else if (kind == "rule") {
      words >> name >> rate;
      TrainingPlan plan;
      plan.rule = &update_rule(name);
      plan.numbers.learning_rate = rate;
      plan.numbers.beta2 = plan.rule->default_beta2;
      for (std::string setting; words >> setting;) {
        const double value = std::stod(setting.substr(setting.find('=') + 1));
        if (setting.starts_with("momentum") || setting.starts_with("beta1"))
          plan.numbers.beta1 = value;
        else if (setting.starts_with("beta2"))
          plan.numbers.beta2 = value;
        else
          plan.numbers.epsilon = value;
      }
      system = trained({.start = start, .rhs = {}}, plan);
      x.resize(system->shape().state_size());
      system->start(x);
    } else if (kind == "after") {
      std::size_t number = 0;
      words >> number;
      std::vector<double> down = gradients[number - 1];
      for (double& entry : down) entry = -entry;
      const Capability<Training> training = system->capabilities().training;
      training->step(x, {}, static_cast<double>(number - 1) * rate, rate,
                     static_cast<std::int64_t>(number), down);
      for (std::size_t i = 0; i < 4; ++i) {
        double expected = 0;
        words >> expected;
        INFO(name << ", step " << number << ", entry " << i);
        CHECK(std::abs(x[i] - expected) <= 1e-13 * std::max(1.0, std::abs(expected)));
        ++checked;
      }
    }
  }
  CHECK(checked == 6 * 12 * 4);
}

TrainingPlan plan_of(const std::string& rule, double rate, double beta = 0.9) {
  TrainingPlan plan;
  plan.rule = &update_rule(rule);
  plan.numbers = {.learning_rate = rate, .beta1 = beta, .beta2 = 0.99};
  return plan;
}

double flow_to(const System& system, double end) {
  Workers workers(1);
  FlowDriver driver(system, workers, {.rtol = 1e-11, .atol = 1e-13});
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.state()[0];
}

/// Gradient descent without noise.
double descent_to(const System& system, double rate, double end) {
  Workers workers(1);
  SgdDriver driver(system, workers, {.learning_rate = rate, .batch_size = 1});
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.state()[0];
}

TEST_CASE("a schedule makes plain SGD's flow that of the rate's integral", "[fast][training]") {
  TrainingPlan plan = plan_of("sgd", 0.1);
  RateSchedule::Options schedule = RateSchedule::parse("step:1,2.5:0.25");
  schedule.warmup = 0.5;
  plan.schedule = RateSchedule(schedule);
  const auto system = trained(decay(1, 2), plan);
  // 0.25 of the warm-up, 0.5 until the first step, then a quarter of 1.5, and a sixteenth of 1.
  const double integral = 0.25 + 0.5 + 0.375 + 0.0625;
  CHECK(flow_to(*system, 3.5) == Approx(2 * std::exp(-integral)).epsilon(1e-9));
}

TEST_CASE("courses of schedules", "[fast][training]") {
  const auto at = [](const std::string& words, double length, double t) {
    RateSchedule::Options options = RateSchedule::parse(words);
    options.length = length;
    options.final_rate = 0.1;
    return RateSchedule(options).at(t);
  };
  CHECK(at("constant", 0, 7) == 1);
  CHECK(at("linear", 4, 1) == Approx(0.775));
  CHECK(at("linear", 4, 9) == Approx(0.1));
  for (const double t : {0.0, 0.3, 1.0, 2.0, 2.9, 4.0})
    CHECK(at("cosine", 4, t) == Approx(0.1 + 0.45 * (1 + std::cos(M_PI * t / 4))).margin(1e-15));
  CHECK(at("inverse-sqrt:2", 0, 1) == 1);
  CHECK(at("inverse-sqrt:2", 0, 8) == Approx(0.5));
  CHECK(at("step:1,3:0.5", 0, 3) == Approx(0.25));
  for (const char* wrong : {"cosine:3", "step:3,1:0.5", "step:1,2", "inverse-sqrt", "inverse-sqrt:0",
                            "exponential", ""})
    CHECK_THROWS_AS(RateSchedule::parse(wrong), UsageError);
}

TEST_CASE("flows of rules with memory approach the discrete rule at the order that they promise",
          "[fast][training]") {
  // On x' = -x from 2 to t = 2, without noise, at fixed time scales of the moments.
  for (const char* rule : {"momentum", "nesterov", "rmsprop", "adam"}) {
    double before = 0;
    for (const double rate : {0.02, 0.01, 0.005}) {
      TrainingPlan plan = plan_of(rule, rate, std::pow(0.9, rate / 0.02));
      plan.numbers.beta2 = std::pow(0.99, rate / 0.02);
      Toy toy = noisy_quadratic(2, 0);
      const auto system = trained(toy, plan);
      const double error = std::abs(flow_to(*system, 2) - descent_to(*system, rate, 2));
      INFO(rule << " at rate " << rate << ": " << error);
      if (before > 0) {
        CHECK(before / error > 1.7);
      }
      before = error;
    }
    CHECK(before < 0.02);
  }
}

}  // namespace
}  // namespace popflow::test
