// Largest eigenvalue of the Hessian compared with dense eigenvalues and exact results; stability
// limits of all training rules compared with runs of their discrete steps.

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "numerics/directional_step.hpp"
#include "numerics/largest_eigenvalue.hpp"
#include "observed/sharpness.hpp"
#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/function_system.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/examples.hpp"
#include "support/toy_systems.hpp"
#include "training/trained.hpp"

namespace popflow::test {
namespace {

State copy_of(std::span<const double> numbers) {
  State x(numbers.size());
  std::copy(numbers.begin(), numbers.end(), x.begin());
  return x;
}

/// Returns the largest real part of the eigenvalues of -J. J is computed by central differences of
/// the right-hand side.
double largest_of_dense(const System& system, StateView x, double t) {
  const std::size_t size = system.shape().state_size();
  Eigen::MatrixXd j(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
  State moved = copy_of(x), plus(size), minus(size);
  std::size_t i = 0;
  for (const StateBlock& block : system.shape().blocks)
    for (std::size_t k = 0; k < block.size; ++k, ++i) {
      const double step = 1e-5 * (block.scale + std::abs(x[i]));
      moved[i] = x[i] + step;
      system.rhs({moved, x.regime}, t, plus);
      moved[i] = x[i] - step;
      system.rhs({moved, x.regime}, t, minus);
      moved[i] = x[i];
      for (std::size_t row = 0; row < size; ++row)
        j(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(i)) =
            (plus[row] - minus[row]) / (2 * step);
    }
  return -Eigen::EigenSolver<Eigen::MatrixXd>(j, false).eigenvalues().real().minCoeff();
}

/// Returns a state near the start, moved in all directions.
State moved_start(const Built& built) {
  State x = copy_of(built.start());
  RandomStream random(7, Purpose::test);
  std::size_t i = 0;
  for (const StateBlock& block : built.system->shape().blocks)
    for (std::size_t k = 0; k < block.size; ++k, ++i) x[i] += 0.1 * block.scale * random.normal();
  return x;
}

Made made_by(const std::string& system, const std::vector<std::string>& words, Workers& workers) {
  return make_system(parse(system, words), workers);
}

/// System f = -A x whose sampled gradients are all exact.
Toy quadratic(double curvature, double start) {
  Toy toy;
  toy.start = {start};
  toy.rhs = [=](auto x, double, auto out) { out[0] = -curvature * x[0]; };
  toy.sample = [=](auto x, auto&, double weight, auto out) { out[0] -= weight * curvature * x[0]; };
  return toy;
}

/// Size of a quadratic's x during training, relative to its start.
struct Growth {
  ///< over all steps, since a rule that divides by the gradient's size soon stops growing
  double most = 0;
  double last = 0;  ///< over the last steps
};
Growth growth(const UpdateRule& rule, double curvature, double rate) {
  TrainingPlan plan;
  plan.rule = &rule;
  plan.numbers.learning_rate = rate;
  plan.numbers.beta2 = rule.default_beta2;
  // A large epsilon makes the divisor sqrt(u) + epsilon nearly constant.
  plan.numbers.epsilon = 1;
  constexpr double kStart = 1e-9;
  const auto toy = std::make_unique<Trained>(
      std::make_unique<ToySystem>(quadratic(curvature, kStart)), std::move(plan));
  Workers workers(1);
  SgdDriver driver(*toy, workers, {.learning_rate = rate, .batch_size = 1});
  Growth found;
  for (int step = 1; step < 1000; ++step) {
    (void)driver.advance(rate * step);
    const double size = std::abs(driver.state()[0]) / kStart;
    found.most = std::max(found.most, size);
    if (step == 990) found.last = 0;
    found.last = std::max(found.last, size);
  }
  return found;
}

}  // namespace

TEST_CASE("Central differences along a vector err by less than 1e-8 of the derivative",
          "[fast][observed]") {
  double worst = 0;
  int tested = 0;
  for (const Example& example : examples()) {
    const Built built(example);
    const System& system = *built.system;
    const std::size_t size = system.shape().state_size();
    const Capability<Jacobian> jacobian = system.capabilities().jacobian;
    if (!jacobian || size > 400) continue;
    const State x = moved_start(built);
    const StateView here = built.view(x);
    State v(size), moved(size), plus(size), minus(size);
    RandomStream random(9, Purpose::test);
    for (double& entry : v) entry = random.normal();
    const double length = directional_step(system.shape().blocks, x, v);
    for (std::size_t i = 0; i < size; ++i) moved[i] = x[i] + length * v[i];
    system.rhs({moved, here.regime}, 0, plus);
    for (std::size_t i = 0; i < size; ++i) moved[i] = x[i] - length * v[i];
    system.rhs({moved, here.regime}, 0, minus);
    const auto n = static_cast<Eigen::Index>(size);
    Eigen::MatrixXd j(n, n);
    std::vector<double> by_time(size);
    jacobian->jacobian(here, 0, j, by_time);
    const Eigen::VectorXd exact = j * Eigen::Map<const Eigen::VectorXd>(v.data(), n);
    const Eigen::VectorXd found = (Eigen::Map<const Eigen::VectorXd>(plus.data(), n) -
                                   Eigen::Map<const Eigen::VectorXd>(minus.data(), n)) /
                                  (2 * length);
    if (!(exact.norm() > 0) || !exact.allFinite()) continue;
    const double error = (found - exact).norm() / exact.norm();
    INFO(example.text() << ": " << error);
    CHECK(error <= 1e-8);
    worst = std::max(worst, error);
    ++tested;
  }
  std::cout << "central differences: " << worst << " over " << tested << " examples\n";
  CHECK(tested > 20);
}

TEST_CASE("The Lanczos method finds the largest eigenvalue of a matrix", "[fast][numerics]") {
  RandomStream random(1, Purpose::test);
  for (const Eigen::Index n : {1, 2, 3, 20, 150, 500}) {
    Eigen::MatrixXd a(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j) a(i, j) = a(j, i) = random.normal();
    std::vector<double> start(static_cast<std::size_t>(n));
    for (double& entry : start) entry = random.normal();
    const auto apply = [&](std::span<const double> v, std::span<double> out) {
      Eigen::Map<Eigen::VectorXd>(out.data(), n) =
          a * Eigen::Map<const Eigen::VectorXd>(v.data(), n);
    };
    const LargestEigenvalue found = largest_eigenvalue(apply, start, 1e-6, 2000);
    const double exact = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues().maxCoeff();
    INFO(n << " numbers: " << found.value << " " << exact);
    CHECK(found.converged);
    CHECK(found.residual <= 1e-6 * std::abs(exact));
    CHECK(std::abs(found.value - exact) <= 1e-6 * std::abs(exact));
  }
}

TEST_CASE("The Lanczos method restarts where eigenvalues are close", "[fast][numerics]") {
  // Relative gaps of 1e-4, which 200 products do not resolve.
  constexpr std::size_t kSize = 3000;
  std::size_t products = 0;
  const auto apply = [&](std::span<const double> v, std::span<double> out) {
    ++products;
    for (std::size_t i = 0; i < kSize; ++i)
      out[i] = (1 - 1e-4 * static_cast<double>(std::min<std::size_t>(i, 9000))) * v[i];
  };
  std::vector<double> start(kSize);
  RandomStream random(2, Purpose::test);
  for (double& entry : start) entry = random.normal();
  const LargestEigenvalue found = largest_eigenvalue(apply, start, 1e-6, 2000);
  INFO(products << " products: " << found.value << ", residual " << found.residual);
  CHECK(products > 200);
  CHECK(found.converged);
  CHECK(std::abs(found.value - 1) < 1e-8);
}

TEST_CASE("The Lanczos method ends when its invariant subspace is complete", "[fast][numerics]") {
  // Two of ten directions are never reached, as where a preconditioner is 0.
  const auto eight = [](std::span<const double> v, std::span<double> out) {
    for (std::size_t i = 0; i < v.size(); ++i)
      out[i] = i < 8 ? v[i] / static_cast<double>(i + 3) : 0;
  };
  const LargestEigenvalue third =
      largest_eigenvalue(eight, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0}, 1e-6, 100);
  CHECK((third.converged && std::abs(third.value - 1.0 / 3) < 1e-9));
  const auto nothing = [](std::span<const double>, std::span<double> out) {
    std::fill(out.begin(), out.end(), 0.0);
  };
  const LargestEigenvalue zero = largest_eigenvalue(nothing, {1, 2, 3}, 1e-6, 100);
  CHECK((zero.converged && zero.value == 0));
  const auto broken = [](std::span<const double>, std::span<double> out) {
    std::fill(out.begin(), out.end(), std::nan(""));
  };
  CHECK_FALSE(largest_eigenvalue(broken, {1, 2, 3}, 1e-6, 100).converged);
  const auto identity = [](std::span<const double> v, std::span<double> out) {
    std::copy(v.begin(), v.end(), out.begin());
  };
  const LargestEigenvalue one = largest_eigenvalue(identity, {1, 2, 3}, 1e-6, 100);
  CHECK((one.converged && std::abs(one.value - 1) < 1e-12));
}

TEST_CASE("the sharpness of every gradient system agrees with the dense matrix",
          "[fast][observed]") {
  constexpr std::size_t kMost = 160;  // most entries of a state for which a dense matrix is made
  std::set<std::string> compared;
  bool preconditioned = false;
  for (const Example& example : examples()) {
    const Built built(example);
    const Capability<GradientFlow> flow = built.system->capabilities().gradient_flow;
    const std::size_t size = built.system->shape().state_size();
    if (!flow || size > kMost) continue;
    const Sharpness sharpness(*built.system, built.config.own);
    const State x = moved_start(built);
    std::vector<double> ones(size, 1.0);
    flow->precondition(built.view(x), ones);
    const bool plain = std::ranges::all_of(ones, [](double one) { return one == 1; });
    preconditioned = preconditioned || !plain;
    const double found = sharpness.at(built.view(x), 0);
    const double dense = largest_of_dense(*built.system, built.view(x), 0);
    INFO(example.text() << ": " << found << ", dense " << dense);
    // A projection adds eigenvalues 0 to the matrix.
    const double expected = !plain && found < 0 ? std::max(found, dense) : dense;
    if (!plain && found < 0)
      CHECK(std::abs(dense) <= 1e-5 * std::abs(found));
    else
      CHECK(std::abs(found - expected) <= 2e-6 * std::max(std::abs(dense), 1e-3));
    compared.insert(example.system);
  }
  CHECK(compared.size() >= 5);  // scb in full coordinates is too large
  CHECK(preconditioned);
}

TEST_CASE("with preconditioner and projection the sharpness is the flow's largest eigenvalue",
          "[fast][observed]") {
  Workers workers(1);
  const std::vector<std::string> small = {"--vocab-size",  "3",   "--context-length", "12",
                                          "--coordinates", "full"};
  for (const char* preconditioner : {"inverse-frequency", "none"})
    for (const char* project : {"attention", "none"}) {
      std::vector<std::string> words = small;
      words.insert(words.end(), {"--preconditioner", preconditioner, "--project", project});
      const Made made = made_by("scb", words, workers);
      State x(made.system->shape().state_size());
      made.system->start(x);
      RandomStream random(3, Purpose::test);
      for (double& entry : x) entry += 0.05 * random.normal();
      const double found = Sharpness(*made.system, made.own).at(x, 0);
      const double dense = largest_of_dense(*made.system, x, 0);
      INFO(preconditioner << " " << project << ": " << found << ", dense " << dense);
      CHECK(std::abs(found - dense) <= 2e-6 * std::abs(dense));
    }
}

TEST_CASE("deep linear networks have the known sharpness", "[fast][observed]") {
  // At a balanced minimum the sharpness is L s^(2 - 2/L), where s is the strongest mode.
  Workers workers(1);
  for (const char* layers : {"2", "3"}) {
    const Made made = made_by(
        "deep-linear", {"--layers", layers, "--start", "spectral", "--t-end", "60"}, workers);
    const Sharpness sharpness(*made.system, made.own);
    FlowDriver driver(*made.system, workers, {.rtol = 1e-12, .atol = 1e-14});
    REQUIRE(driver.advance(200).kind == Outcome::Kind::reached);
    std::vector<double> strengths;
    made.system->field("W", driver.view(), 200, [&](std::size_t, std::span<const double> values) {
      strengths.insert(strengths.end(), values.begin(), values.end());
    });
    const double L = std::stod(layers);
    const double strongest = std::pow(*std::max_element(strengths.begin(), strengths.end()), L);
    INFO(layers << " layers, strongest mode " << strongest);
    CHECK(std::abs(sharpness.at(driver.view(), 200) / (L * std::pow(strongest, 2 - 2 / L)) - 1) <
          1e-6);
  }
}

TEST_CASE("steps of every training rule are stable up to its limit and unstable beyond",
          "[fast][training]") {
  constexpr double kCurvature = 0.7;
  int known = 0;
  for (const UpdateRule& rule : update_rules()) {
    if (rule.stability == nullptr) continue;
    ++known;
    RuleNumbers<double> numbers = TrainingPlan().numbers;
    numbers.beta2 = rule.default_beta2;
    const double limit = rule.stability(numbers) / kCurvature;
    const double below = growth(rule, kCurvature, 0.97 * limit).last;
    const double above = growth(rule, kCurvature, 1.03 * limit).most;
    INFO(rule.name << ": limit " << limit << ", growth " << below << " below, " << above
                   << " above");
    CHECK(below < 1e-3);
    CHECK(above > 1e3);
  }
  CHECK(known >= 6);
}

TEST_CASE("an adaptive rule's sharpness is that of its preconditioned Hessian",
          "[fast][observed]") {
  Workers workers(1);
  const std::vector<std::string> words = {"--optimizer", "adam", "--learning-rate", "0.01",
                                          "--mode",      "sgd",  "--start",         "gaussian"};
  const Made made = made_by("deep-linear", words, workers);
  const System& plain = source_of_gradients(*made.system);
  const Sharpness sharpness(*made.system, made.own);
  SgdDriver driver(*made.system, workers, {.learning_rate = 0.01, .batch_size = 8});
  CHECK(std::isnan(sharpness.at(driver.view(), 0)));  // there is no second moment yet
  REQUIRE(driver.advance(0.5).kind == Outcome::Kind::reached);
  const std::size_t n = plain.shape().state_size();
  const StateView own{std::span<const double>(driver.state()).first(n), {}};
  // The preconditioned Hessian is -J of the plain flow between the roots of 1/(sqrt(u) + epsilon).
  Eigen::MatrixXd j(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  std::vector<double> by_time(n);
  plain.capabilities().jacobian->jacobian(own, 0, j, by_time);
  Eigen::VectorXd root(static_cast<Eigen::Index>(n));
  const double corrected = 1 - std::pow(0.999, 50);
  for (std::size_t i = 0; i < n; ++i)
    root[static_cast<Eigen::Index>(i)] =
        1 / std::sqrt(std::sqrt(driver.state()[2 * n + i] / corrected) + 1e-8);
  const Eigen::MatrixXd own_hessian = root.asDiagonal() * (-j) * root.asDiagonal();
  const double exact =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(own_hessian).eigenvalues().maxCoeff();
  CHECK(std::abs(sharpness.at(driver.view(), driver.time()) / exact - 1) < 1e-6);
}

TEST_CASE("systems without a Hessian refuse the sharpness and say why", "[fast][observed]") {
  Workers workers(1);
  const auto said = [&](const std::string& system, const std::vector<std::string>& words) {
    const Made made = made_by(system, words, workers);
    try {
      const Sharpness sharpness(*made.system, made.own);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto refuses = [&](const std::string& system, const std::vector<std::string>& words,
                           const std::string& part) {
    const std::string message = said(system, words);
    INFO(system << ": " << message);
    CHECK(message.find("--sharpness: " + system + " has no Hessian here") != std::string::npos);
    CHECK(message.find(part) != std::string::npos);
  };
  refuses("joma", {}, "only along gradient flow");
  refuses("joma-joint", {"--coordinates", "integrated"}, "only along gradient flow");
  refuses("scb", {"--schedule", "two-stage", "--coordinates", "full", "--vocab-size", "4"},
          "stages");
  refuses("markov", {"--w0", "0"}, "w does not move");
  CHECK(said("scb", {"--coordinates", "signal"}).empty());
}

TEST_CASE("a preconditioner that is not a constant diagonal matrix is refused",
          "[fast][observed]") {
  const auto sharpness_with = [](const auto& precondition) {
    FunctionSystem system{"twisted", "a test", "a test", "x' = -M x", {}, {}};
    system.functions = [=](const Parameters&, const Setting&) {
      Functions f;
      f.state = {{"x", {1, 2}, "a state"}};
      f.rhs = [=](auto x, double, auto out) {
        out[0] = -x[0];
        out[1] = -3 * x[1];
        precondition(x, out);
      };
      f.loss = [](auto x, double) { return (x[0] * x[0] + 3 * x[1] * x[1]) / 2; };
      f.precondition = precondition;
      return f;
    };
    const Catalogue catalogue(std::vector<CatalogueRow>{system});
    const Parameters own(catalogue.info("twisted").parameters);
    Workers workers(1);
    const Made made = catalogue.make("twisted", own, {}, workers);
    return Sharpness(*made.system, made.own).at(std::vector<double>{1, 2}, 0);
  };
  CHECK(std::abs(sharpness_with([](auto, auto v) { v[1] *= 4; }) - 12) < 1e-6);
  CHECK(std::abs(sharpness_with([](auto, auto v) { v[1] = 0; }) - 1) < 1e-6);
  // Projection on the diagonal x_0 = x_1: the sharpness is the mean of both curvatures.
  CHECK(std::abs(sharpness_with([](auto, auto v) { v[0] = v[1] = (v[0] + v[1]) / 2; }) - 2) < 1e-6);
  const std::string more = "must be a constant diagonal matrix";
  CHECK_THROWS_WITH(sharpness_with([](auto, auto v) { v[0] += 0.5 * v[1], v[1] += 0.5 * v[0]; }),
                    Catch::Contains(more));
  CHECK_THROWS_WITH(sharpness_with([](auto x, auto v) { v[1] *= 1 + x[0] * x[0]; }),
                    Catch::Contains(more));
}

}  // namespace popflow::test
