// Training rules compared with PyTorch's, step by step on its gradients; flows compared with the
// rules at small learning rates; schedules.

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/source_folder.hpp"
#include "support/toy_systems.hpp"
#include "training/trained.hpp"

namespace popflow::test {
namespace {

std::unique_ptr<System> trained(Toy toy, TrainingPlan plan) {
  return std::make_unique<Trained>(std::make_unique<ToySystem>(std::move(toy)), std::move(plan));
}

/// Toy whose state is a matrix of two rows, as its field shows.
class ToyMatrix final : public ToySystem {
 public:
  explicit ToyMatrix(Toy toy) : ToySystem(std::move(toy)) {
    info_.fields = {{"x", {"row", "column"}, "", "", ""}};
    shape_.fields = {"x"};
    const std::size_t columns = shape_.state_size() / 2;
    shape_.dimensions.push_back({"row", 2, DimensionSpec::Coordinate::index, {}, {}});
    shape_.dimensions.push_back({"column", columns, DimensionSpec::Coordinate::index, {}, {}});
  }
  void field(std::string_view, StateView x, double, const FieldSink& sink) const override {
    sink(0, x);
  }
};

/// Reads the numbers of a line `rule` of data/reference/optimizers.txt.
TrainingPlan plan_of_line(std::istringstream& words) {
  std::string name;
  TrainingPlan plan;
  RuleNumbers<double>& numbers = plan.numbers;
  words >> name >> numbers.learning_rate;
  plan.rule = &update_rule(name);
  numbers.beta2 = plan.rule->default_beta2;
  RateSchedule::Options schedule;
  for (std::string setting; words >> setting;) {
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals), word = setting.substr(equals + 1);
    if (key == "schedule") {
      const RateSchedule::Options before = schedule;
      schedule = RateSchedule::parse(word);
      schedule.length = before.length;
      continue;
    }
    const double value = std::stod(word);
    const std::map<std::string, double*> places = {
        {"momentum", &numbers.beta1},  {"beta1", &numbers.beta1},
        {"beta2", &numbers.beta2},     {"epsilon", &numbers.epsilon},
        {"coupled", &numbers.coupled}, {"decoupled", &numbers.decoupled},
        {"average", &plan.average},    {"clip", &plan.clip_norm},
        {"length", &schedule.length},  {"final", &schedule.final_rate},
        {"warmup", &schedule.warmup}};
    if (key == "newton-schulz")
      plan.by_newton_schulz = true;
    else
      *places.at(key) = value;
  }
  plan.schedule = RateSchedule(schedule);
  return plan;
}

TEST_CASE("every training rule takes the same steps as PyTorch and optax", "[fast][training]") {
  std::ifstream file(source_file("data/reference/optimizers.txt"));
  std::vector<double> start(4);
  std::vector<std::vector<double>> gradients;
  std::unique_ptr<System> system;
  std::vector<double> x;
  double rate = 0;
  int rules = 0, averages = 0;
  std::size_t taken = 0;  // number of steps taken
  std::string rule;
  std::set<std::string_view> names;
  bool is_matrix = false;
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
      rule = line;
      const TrainingPlan plan = plan_of_line(words);
      names.insert(plan.rule->name);
      is_matrix = plan.rule->whole == UpdateRule::Whole::orthogonal;
      rate = plan.numbers.learning_rate;
      system = std::make_unique<Trained>(
          std::make_unique<ToyMatrix>(Toy{.start = start, .rhs = {}}), plan);
      x.resize(system->shape().state_size());
      system->start(x);
      taken = 0;
      ++rules;
    } else if (kind == "average") {
      std::size_t number = 0;
      words >> number;
      REQUIRE(number == taken);
      ++averages;
      for (std::size_t i = 0; i < 4; ++i) {
        double expected = 0;
        words >> expected;
        INFO(rule << ", average after step " << number << ", entry " << i);
        CHECK(std::abs(x[x.size() - 4 + i] - expected) <=
              1e-13 * std::max(1.0, std::abs(expected)));
      }
    } else if (kind == "after") {
      std::size_t number = 0;
      words >> number;
      const Capability<Training> training = system->capabilities().training;
      for (; taken < number; ++taken) {
        std::vector<double> down = gradients[taken];
        if (is_matrix) down[2] /= 1000;
        for (double& entry : down) entry = -entry;
        training->step(x, static_cast<double>(taken) * rate, rate,
                       static_cast<std::int64_t>(taken + 1), down);
      }
      for (std::size_t i = 0; i < 4; ++i) {
        double expected = 0;
        words >> expected;
        INFO(rule << ", step " << number << ", entry " << i);
        CHECK(std::abs(x[i] - expected) <= 1e-13 * std::max(1.0, std::abs(expected)));
      }
    }
  }
  CHECK(rules >= 13 + 2 + 10 * 5 * 2 * 3 + 3 * 3 * 3);
  CHECK(averages == 2 * 12);
  for (const UpdateRule& each : update_rules()) {
    INFO(each.name);
    CHECK(names.contains(each.name));
  }
}

TEST_CASE("steps of a schedule are counted, whatever the learning rate's rounding",
          "[fast][training]") {
  // Learning rates and step numbers of up to three digits; a fortieth of the products round down.
  for (int digits = 1; digits < 400; ++digits)
    for (int k = 1; k < 60; ++k) {
      const double rate = digits / 1000.0, time = digits * k / 1000.0;
      RateSchedule::Options options{.course = RateSchedule::Course::step};
      options.steps = {time};
      options.factor = 0.5;
      const RateSchedule schedule(options);
      if (schedule.at_step(k * rate) == 0.5 && schedule.at_step((k - 1) * rate) == 1 &&
          schedule.at_step((8.0 * k) * (rate / 8)) == 0.5)
        continue;
      FAIL_CHECK("rate " << rate << ", step " << k);
    }
}

TEST_CASE("entries of a large state take the same steps as each entry alone", "[fast][training]") {
  constexpr std::size_t kSize = 37;  // two packs and a rest
  for (const UpdateRule& rule : update_rules()) {
    if (rule.whole != UpdateRule::Whole::none) continue;
    TrainingPlan plan;
    plan.rule = &rule;
    plan.numbers.coupled = 0.1;
    std::vector<double> start(kSize);
    for (std::size_t i = 0; i < kSize; ++i) start[i] = std::sin(static_cast<double>(i + 1));
    const auto all = trained({.start = start, .rhs = {}}, plan);
    std::vector<double> x(all->shape().state_size());
    all->start(x);
    std::vector<std::vector<double>> alone;
    std::vector<std::unique_ptr<System>> systems;
    for (std::size_t i = 0; i < kSize; ++i) {
      systems.push_back(trained({.start = {start[i]}, .rhs = {}}, plan));
      alone.emplace_back(systems[i]->shape().state_size());
      systems[i]->start(alone[i]);
    }
    for (int k = 1; k <= 5; ++k) {
      std::vector<double> g(kSize);
      for (std::size_t i = 0; i < kSize; ++i)
        g[i] = std::cos(static_cast<double>(k) * static_cast<double>(i));
      for (std::size_t i = 0; i < kSize; ++i) {
        std::vector<double> one{g[i]};
        systems[i]->capabilities().training->step(alone[i], 0.01 * (k - 1), 0.01, k, one);
      }
      all->capabilities().training->step(x, 0.01 * (k - 1), 0.01, k, g);
    }
    INFO(rule.name);
    for (std::size_t i = 0; i < kSize; ++i)
      for (std::size_t part = 0; part <= rule.memory(); ++part)
        CHECK(x[i + part * kSize] == alone[i][part]);
  }
}

TrainingPlan plan_of(const std::string& rule, double rate, double beta = 0.9) {
  TrainingPlan plan;
  plan.rule = &update_rule(rule);
  plan.numbers.learning_rate = rate;
  plan.numbers.beta1 = beta;
  plan.numbers.beta2 = 0.99;
  return plan;
}

double flow_to(const System& system, double end) {
  Workers workers(1);
  FlowDriver driver(system, workers, {.rtol = 1e-11, .atol = 1e-13});
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.state()[0];
}

/// Returns the end of gradient descent without noise.
double descent_to(const System& system, double rate, double end) {
  Workers workers(1);
  SgdDriver driver(system, workers, {.learning_rate = rate, .batch_size = 1});
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.state()[0];
}

TEST_CASE("with a schedule plain SGD's flow runs over the integral of the rate",
          "[fast][training]") {
  TrainingPlan plan = plan_of("sgd", 0.1);
  RateSchedule::Options schedule = RateSchedule::parse("step:1,2.5:0.25");
  schedule.warmup = 0.5;
  plan.schedule = RateSchedule(schedule);
  const auto system = trained(decay(1, 2), plan);
  // 0.25 from the warm-up, 0.5 until the first drop, then a quarter of 1.5, and a sixteenth of 1.
  const double integral = 0.25 + 0.5 + 0.375 + 0.0625;
  CHECK(flow_to(*system, 3.5) == Approx(2 * std::exp(-integral)).epsilon(1e-9));
}

TEST_CASE("steps of a flow end where the learning rate jumps", "[fast][training]") {
  // A fixed step across the jump at t = 1 would have an error of 1e-2.
  TrainingPlan plan = plan_of("sgd", 0.1);
  plan.schedule = RateSchedule(RateSchedule::parse("step:1:0.25"));
  const auto system = trained(decay(1, 2), plan);
  Workers workers(1);
  FlowDriver driver(*system, workers, {.method = "rk4", .dt = 0.3});
  REQUIRE(driver.advance(2.5).kind == Outcome::Kind::reached);
  CHECK(driver.state()[0] == Approx(2 * std::exp(-1.375)).epsilon(2e-4));
  CHECK(driver.statistics().accepted == 9);  // four steps before the jump and five after it
}

TEST_CASE("weights decay in the flow as in the training rule", "[fast][training]") {
  // On x' = -x from 2 coupled decay is an l2 penalty, and so is decoupled decay under plain SGD.
  for (const bool beside : {false, true}) {
    TrainingPlan plan = plan_of("sgd", 0.01);
    (beside ? plan.numbers.decoupled : plan.numbers.coupled) = 0.5;
    const auto system = trained(noisy_quadratic(2, 0), plan);
    CHECK(flow_to(*system, 2) == Approx(2 * std::exp(-3.0)).epsilon(1e-9));
  }
  // Under Adam only decoupled decay has the rate lambda: with zero gradient x decays exponentially.
  TrainingPlan plan = plan_of("adamw", 0.01);
  plan.numbers.decoupled = 0.5;
  Toy flat{.start = {2}, .rhs = [](StateView, double, std::span<double> out) { out[0] = 0; }};
  const auto still = trained(std::move(flat), plan);
  CHECK(flow_to(*still, 2) == Approx(2 * std::exp(-1.0)).epsilon(1e-9));
}

TEST_CASE("the flow of sign SGD is that of the mean sign of Gaussian gradients",
          "[fast][training]") {
  // On x' = -x from 2, samples of variance 4 in batches of 4 give dx/dt = -erf(x/sqrt 2).
  TrainingPlan plan = plan_of("signsgd", 0.01);
  plan.variance = GradientVariance::Options{.batch_size = 4, .isotropic = 2};
  const auto system = trained(noisy_quadratic(2, 2), plan);
  const double h = 1e-6;
  double x = 2;
  for (int i = 0; i < 1'000'000; ++i) {  // midpoint rule
    const double middle = x - h / 2 * std::erf(x / std::sqrt(2.0));
    x -= h * std::erf(middle / std::sqrt(2.0));
  }
  CHECK(flow_to(*system, 1) == Approx(x).epsilon(1e-9));
}

TEST_CASE("schedules have their formulas' values", "[fast][training]") {
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
  RateSchedule::Options warm = RateSchedule::parse("cosine");
  warm.warmup = 1;
  warm.length = 4;
  CHECK(RateSchedule(warm).at(0.5) == 0.5);
  CHECK(RateSchedule(warm).at(1) == 1);
  CHECK(RateSchedule(warm).at(2.5) == Approx(0.5));
  CHECK(at("inverse-sqrt:2", 0, 1) == 1);
  CHECK(at("inverse-sqrt:2", 0, 8) == Approx(0.5));
  CHECK(at("step:1,3:0.5", 0, 3) == Approx(0.25));
  for (const char* wrong : {"cosine:3", "step:3,1:0.5", "step:1,2", "inverse-sqrt",
                            "inverse-sqrt:0", "exponential", ""})
    CHECK_THROWS_AS(RateSchedule::parse(wrong), UsageError);
}

TEST_CASE("flows of rules with memory converge to the discrete rule", "[fast][training]") {
  // On x' = -x from 2 without noise: momentum at fixed beta, mean squares at fixed time scales.
  // RMSProp's first steps are eta/sqrt(1 - beta2), of order 1/2.
  struct Case {
    const char* rule;
    double end, order;
    bool keeps_time_scales;
  };
  for (const Case& one : {Case{"momentum", 0.2, 1, false},
                          {"nesterov", 0.2, 1, false},
                          {"adam", 0.4, 1, true},
                          {"adagrad", 0.4, 1, false},
                          {"adagrad-norm", 0.4, 1, false},
                          {"rmsprop", 0.4, 0.5, true}}) {
    std::vector<double> errors;
    for (const double rate : {0.002, 0.001, 0.0005}) {
      TrainingPlan plan = plan_of(one.rule, rate);
      const double power = one.keeps_time_scales ? rate / 0.02 : 1;
      plan.numbers.beta1 = std::pow(0.9, power);
      plan.numbers.beta2 = std::pow(0.99, power);
      const auto system = trained(noisy_quadratic(2, 0), plan);
      errors.push_back(flow_to(*system, one.end) - descent_to(*system, rate, one.end));
    }
    INFO(one.rule << ": " << errors[0] << ", " << errors[1] << ", " << errors[2]);
    CHECK(std::log2(errors[1] / errors[2]) == Approx(one.order).margin(0.1));
  }
}

TEST_CASE("without noise a step eta of the SDE is a step of the discrete rule",
          "[fast][training]") {
  for (const char* rule : {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adagrad",
                           "adagrad-norm", "lion", "muon"}) {
    TrainingPlan plan = plan_of(rule, 0.01);
    plan.schedule = RateSchedule(RateSchedule::parse("step:0.02:0.5"));
    const auto system = trained(noisy_quadratic(2, 0), plan);
    Workers workers(1);
    SdeDriver sde(*system, workers,
                  {.learning_rate = 0.01, .batch_size = 2, .dt = 0.01, .noise_samples = 2});
    SgdDriver sgd(*system, workers, {.learning_rate = 0.01, .batch_size = 1});
    REQUIRE(sde.advance(0.05).kind == Outcome::Kind::reached);
    REQUIRE(sgd.advance(0.05).kind == Outcome::Kind::reached);
    INFO(rule);
    CHECK(sde.state()[0] == Approx(sgd.state()[0]).epsilon(1e-12));
    CHECK(sde.state()[0] != 2);
  }
}

TEST_CASE("SDEs of training rules have the standard deviation of sampled training",
          "[fast][numbers][training]") {
  // Many runs of x' = -x with samples of variance 1. The bound is 5 standard errors of a standard
  // deviation, and 3% for the difference between SDE and rule at this rate.
  constexpr std::uint32_t kRuns = 2000;
  for (const char* rule : {"momentum", "nesterov", "adam", "signsgd"}) {
    TrainingPlan plan = plan_of(rule, 0.02);
    if (plan.rule->is_adaptive())
      plan.variance = GradientVariance::Options{.batch_size = 16, .isotropic = 1};
    const auto system = trained(noisy_quadratic(1, 1), plan);
    Workers workers(1);
    const auto deviation = [&](auto make) {
      double sum = 0, squares = 0;
      for (std::uint32_t run = 0; run < kRuns; ++run) {
        const auto driver = make(run);
        REQUIRE(driver->advance(0.8).kind == Outcome::Kind::reached);
        sum += driver->state()[0];
        squares += driver->state()[0] * driver->state()[0];
      }
      return std::sqrt(squares / kRuns - sum / kRuns * sum / kRuns);
    };
    const double sampled = deviation([&](std::uint32_t run) {
      return std::make_unique<SgdDriver>(
          *system, workers,
          SgdDriver::Options{.learning_rate = 0.02, .batch_size = 16, .run = run});
    });
    const double gaussian = deviation([&](std::uint32_t run) {
      return std::make_unique<SdeDriver>(*system, workers,
                                         SdeDriver::Options{.learning_rate = 0.02,
                                                            .batch_size = 16,
                                                            .dt = 0.005,
                                                            .noise_samples = 64,
                                                            .run = run});
    });
    INFO(rule << ": " << sampled << " and " << gaussian);
    CHECK(std::abs(gaussian / sampled - 1) < 5 * std::sqrt(1.0 / kRuns) + 0.03);
  }
}

TEST_CASE("rules of the whole gradient converge to their flows", "[fast][training]") {
  // x' = -c x for a matrix of two rows, with different c.
  static constexpr double kRates[] = {1, 2, 0.5, 1.5};
  Toy toy{.start = {2, 0.3, 0.1, 1.5}, .rhs = [](StateView x, double, std::span<double> out) {
            for (std::size_t i = 0; i < 4; ++i) out[i] = -kRates[i] * x[i];
          }};
  toy.sample = [](auto x, RandomStream&, double weight, auto out) {
    for (std::size_t i = 0; i < 4; ++i) out[i] -= weight * kRates[i] * x[i];
  };
  for (const char* rule : {"muon", "normalised", "clipped"}) {
    std::vector<double> errors;
    for (const double rate : {0.002, 0.001, 0.0005}) {
      const std::string name = rule;
      TrainingPlan plan = plan_of(name.starts_with("muon") ? "muon"
                                  : name == "clipped"      ? "sgd"
                                                           : name,
                                  rate);
      plan.clip_norm = name == "clipped" ? 2.5 : 0;  // the norm begins at 3.3
      plan.numbers.coupled = 0.1;
      const Trained system(std::make_unique<ToyMatrix>(toy), plan);
      errors.push_back(flow_to(system, 0.4) - descent_to(system, rate, 0.4));
      Workers workers(1);
      SdeDriver sde(system, workers,
                    {.learning_rate = rate, .batch_size = 2, .dt = rate, .noise_samples = 2});
      if (name.starts_with("muon")) {
        REQUIRE(sde.advance(0.4).kind == Outcome::Kind::reached);
        CHECK(sde.state()[0] == Approx(descent_to(system, rate, 0.4)).epsilon(1e-11));
      }
    }
    INFO(rule << ": " << errors[0] << ", " << errors[1] << ", " << errors[2]);
    // Without rotation the error of muon's flow is of second order.
    if (std::string(rule) == "muon")
      CHECK(std::abs(errors[2]) < 1e-4);
    else
      CHECK(std::log2(errors[1] / errors[2]) == Approx(1).margin(0.1));
  }
}

TEST_CASE("divided by a mean or a sum of squares, flat directions scatter as in training",
          "[fast][training]") {
  // Gradients of mean 0 and variance 1/16: the first steps are the largest. The bound is that of
  // the approximation of the fluctuating divisor, 20% of the variance, and 5 standard errors.
  constexpr std::uint32_t kRuns = 2000;
  Toy flat{.start = {0}, .rhs = [](StateView, double, std::span<double> out) { out[0] = 0; }};
  flat.sample = [](auto, RandomStream& random, double weight, auto out) {
    out[0] += weight * random.normal();
  };
  for (const char* rule : {"rmsprop", "adagrad", "adagrad-norm"}) {
    TrainingPlan plan = plan_of(rule, 0.02);
    plan.variance = GradientVariance::Options{.batch_size = 16, .isotropic = 1};
    const auto system = trained(flat, plan);
    Workers workers(1);
    double squares[2] = {0, 0}, least = 0;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      SgdDriver sgd(*system, workers, {.learning_rate = 0.02, .batch_size = 16, .run = run});
      SdeDriver sde(
          *system, workers,
          {.learning_rate = 0.02, .batch_size = 16, .dt = 0.002, .noise_samples = 16, .run = run});
      REQUIRE(sgd.advance(0.2).kind == Outcome::Kind::reached);
      REQUIRE(sde.advance(0.2).kind == Outcome::Kind::reached);
      squares[0] += sgd.state()[0] * sgd.state()[0];
      squares[1] += sde.state()[0] * sde.state()[0];
      least = std::min(least, sde.state()[1]);
    }
    INFO(rule << ": variances " << squares[0] / kRuns << " and " << squares[1] / kRuns);
    CHECK(std::abs(squares[1] / squares[0] - 1) < 0.2 + 5 * std::sqrt(4.0 / kRuns));
    CHECK(least >= 0);
  }
}

TEST_CASE("lion's flow and SDE have the mean and the deviation of sampled training",
          "[fast][training]") {
  // x' = -x from 0.2 with samples of variance 1 in batches of 16: the noise exceeds the gradient.
  constexpr std::uint32_t kRuns = 2000;
  TrainingPlan plan = plan_of("lion", 0.005);
  plan.variance = GradientVariance::Options{.batch_size = 16, .isotropic = 1};
  const auto system = trained(noisy_quadratic(0.2, 1), plan);
  Workers workers(1);
  double sum = 0, squares = 0, sum_of_sde = 0, squares_of_sde = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    SgdDriver sgd(*system, workers, {.learning_rate = 0.005, .batch_size = 16, .run = run});
    REQUIRE(sgd.advance(0.2).kind == Outcome::Kind::reached);
    sum += sgd.state()[0];
    squares += sgd.state()[0] * sgd.state()[0];
    SdeDriver sde(
        *system, workers,
        {.learning_rate = 0.005, .batch_size = 16, .dt = 0.00125, .noise_samples = 16, .run = run});
    REQUIRE(sde.advance(0.2).kind == Outcome::Kind::reached);
    sum_of_sde += sde.state()[0];
    squares_of_sde += sde.state()[0] * sde.state()[0];
  }
  const double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  const double flow = flow_to(*system, 0.2);
  INFO(flow << " and " << mean << " +- " << error);
  // 3% of the way for the order of the flow.
  CHECK(std::abs(flow - mean) < 5 * error + 0.03 * (0.2 - flow));
  CHECK(flow < 0.15);
  const auto variance = [](double first, double second) {
    return second / kRuns - first / kRuns * first / kRuns;
  };
  const double ratio = std::sqrt(variance(sum_of_sde, squares_of_sde) / variance(sum, squares));
  INFO("deviation " << error * std::sqrt(kRuns) << ", of the SDE " << ratio << " times as large");
  CHECK(std::abs(ratio - 1) < 5 * std::sqrt(1.0 / kRuns) + 0.05);
}

TEST_CASE("a proximal map follows each step of momentum, with the rate of the schedule",
          "[fast][training]") {
  const auto soft = [](double x, double by) {
    return std::copysign(std::max(std::abs(x) - by, 0.0), x);
  };
  Toy toy = noisy_quadratic(2, 0);
  toy.proximal = [&](std::span<double> x, double dt) { x[0] = soft(x[0], 3 * dt); };
  TrainingPlan plan = plan_of("momentum", 0.1);
  plan.schedule = RateSchedule(RateSchedule::parse("step:0.3:0.5"));
  const auto system = trained(std::move(toy), plan);
  double x = 2, m = 0;
  for (int k = 0; k < 6; ++k) {
    const double rate = k < 3 ? 0.1 : 0.05;
    m = 0.9 * m - x;
    x = soft(x + rate * m, 3 * rate);
  }
  CHECK(descent_to(*system, 0.1, 0.6) == Approx(x).epsilon(1e-12));
}

TEST_CASE("momentum with SVAG converges to its flow and its SDE", "[fast][training]") {
  const double rate = 0.1, end = 0.8;
  Workers workers(1);
  const auto interpolated = [&](std::int64_t l) {
    TrainingPlan plan = plan_of("momentum", rate);
    interpolate_by_svag(plan, l);
    return plan;
  };
  const double flow = flow_to(*trained(noisy_quadratic(2, 0), plan_of("momentum", rate)), end);
  std::vector<double> errors;
  for (const std::int64_t l : {32, 64, 128}) {
    const auto system = trained(noisy_quadratic(2, 0), interpolated(l));
    SgdDriver driver(*system, workers, {.learning_rate = rate, .batch_size = 1, .svag = l});
    REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
    errors.push_back(driver.state()[0] - flow);
  }
  INFO(errors[0] << ", " << errors[1] << ", " << errors[2]);
  CHECK(std::log2(errors[0] / errors[1]) == Approx(1).margin(0.05));
  CHECK(std::log2(errors[1] / errors[2]) == Approx(1).margin(0.05));

  // Standard deviations agree within 5 standard errors, plus 3% for the remaining term in 1/l.
  constexpr std::uint32_t kRuns = 2000;
  const std::int64_t l = 32;
  double squares[2] = {0, 0};
  const auto sampled = trained(noisy_quadratic(0, 1), interpolated(l));
  const auto gaussian = trained(noisy_quadratic(0, 1), plan_of("momentum", rate));
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    SgdDriver sgd(*sampled, workers,
                  {.learning_rate = rate, .batch_size = 4, .svag = l, .run = run});
    SdeDriver sde(*gaussian, workers,
                  {.learning_rate = rate,
                   .batch_size = 4,
                   .dt = rate / static_cast<double>(l),
                   .noise_samples = 64,
                   .run = run});
    REQUIRE(sgd.advance(end).kind == Outcome::Kind::reached);
    REQUIRE(sde.advance(end).kind == Outcome::Kind::reached);
    squares[0] += sgd.state()[0] * sgd.state()[0];
    squares[1] += sde.state()[0] * sde.state()[0];
  }
  const double ratio = std::sqrt(squares[0] / squares[1]);
  CHECK(std::abs(ratio - 1) < 5 * std::sqrt(1.0 / kRuns) + 0.03);
  TrainingPlan nesterov = plan_of("nesterov", rate);
  CHECK_THROWS_WITH(interpolate_by_svag(nesterov, 2), Catch::Contains("sgd and momentum"));
}

}  // namespace
}  // namespace popflow::test
