// What every system must hold to, in every variant that its examples.txt names.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "popflow/sde_driver.hpp"
#include "run/modes.hpp"
#include "support/examples.hpp"
#include "support/monte_carlo.hpp"
#include "support/slopes.hpp"

namespace popflow::test {
namespace {

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

double largest(std::span<const double> x) {
  double worst = 0;
  for (const double value : x) worst = std::max(worst, std::abs(value));
  return worst;
}

/// The state after a part of the way, with the driver that went it.
struct Went {
  Went(const Made& made, double end, FlowDriver::Options options)
      : driver(*made.system, const_cast<Workers&>(made.workers), std::move(options)),
        outcome(driver.advance(end)) {}
  FlowDriver driver;
  Outcome outcome;
};

TEST_CASE("any number of threads gives the same bits", "[fast][properties]") {
  for (const Example& example : examples()) {
    INFO(example.text());
    const Made one(example, 1);
    const Made four(example, 4);
    const std::vector<double> x = one.start();
    REQUIRE(same_bits(x, four.start()));
    CHECK(same_bits(one.rhs(x, 0), four.rhs(x, 0)));
    const Went a(one, 0.1 * one.end, one.options);
    const Went b(four, 0.1 * four.end, four.options);
    CHECK(same_bits(a.driver.state(), b.driver.state()));
    CHECK(same_bits(one.observe(a.driver.state(), a.driver.time()),
                    four.observe(b.driver.state(), b.driver.time())));
  }
}

TEST_CASE("observables are as many as described, and never infinite", "[fast][properties]") {
  for (const Example& example : examples()) {
    INFO(example.text());
    const Made made(example);
    for (const double part : {0.0, 0.3, 1.0}) {
      const Went went(made, part * made.end, made.options);
      const auto values = made.observe(went.driver.state(), went.driver.time());
      for (std::size_t i = 0; i < values.size(); ++i) {
        INFO(made.system->info().observables[i].name);
        CHECK_FALSE(std::isinf(values[i]));
      }
    }
  }
}

TEST_CASE("a stated Jacobian is the derivative of the right-hand side", "[fast][properties]") {
  for (const Example& example : examples()) {
    const Made made(example);
    if (!made.system->has_jacobian()) continue;
    INFO(example.text());
    const std::size_t n = made.system->shape().state_size();
    if (n > 400) continue;
    const Went went(made, 0.2 * made.end, made.options);
    std::vector<double> x(went.driver.state().begin(), went.driver.state().end());
    const double t = went.driver.time();
    Eigen::MatrixXd j(n, n);
    std::vector<double> time_derivative(n);
    made.system->jacobian(x, t, j, time_derivative);
    std::size_t column = 0;
    for (const StateBlock& block : made.system->shape().blocks) {
      for (std::size_t k = 0; k < block.size; ++k, ++column) {
        // Central differences of order four; their error is h^4 and rounding over h.
        const double h = 1e-3 * std::max(block.scale, std::abs(x[column]));
        const auto moved = [&](double step) {
          std::vector<double> y = x;
          y[column] += step;
          const auto f = made.rhs(y, t);
          return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(f.data(), n));
        };
        const Eigen::VectorXd difference =
            (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
        const double size = difference.cwiseAbs().maxCoeff() + j.cwiseAbs().maxCoeff() * 1e-3;
        INFO(block.name << "[" << k << "]");
        CHECK((j.col(column) - difference).cwiseAbs().maxCoeff() <= 1e-6 * size);
      }
    }
  }
}

TEST_CASE("stated invariants are kept to the integrator's tolerance", "[fast][properties]") {
  for (const Example& example : examples()) {
    const Made made(example);
    if (made.system->has_proximal()) continue;  // split: of order 1
    FlowDriver::Options options = made.options;
    options.rtol = 1e-11;
    options.atol = 1e-13;
    const Went went(made, made.end, options);
    const auto before = made.observe(made.start(), 0);
    const auto after = made.observe(went.driver.state(), went.driver.time());
    for (const std::string& name : made.system->shape().invariants) {
      INFO(example.text() << ": " << name);
      for (const InvariantInfo& info : made.system->info().invariants) {
        if (info.observable != name) continue;
        for (std::size_t i = 0; i < after.size(); ++i) {
          if (made.system->info().observables[i].name != name) continue;
          const double origin = info.form == InvariantInfo::Form::zero ? 0 : before[i];
          // Errors of steps add up: a hundred tolerances of the quantity's own size.
          CHECK(std::abs(after[i] - origin) <= 1e-9 * std::max(1.0, std::abs(origin)));
        }
      }
    }
  }
}

TEST_CASE("a stated closed form is the solution, at the method's order", "[fast][properties]") {
  for (const Example& example : examples()) {
    const Made made(example);
    if (!made.system->has_closed_form()) continue;
    INFO(example.text());
    const std::size_t n = made.system->shape().state_size();
    std::vector<double> exact(n);
    made.system->closed_form(0, exact);
    const auto start = made.start();
    for (std::size_t i = 0; i < n; ++i) CHECK(exact[i] == Approx(start[i]).margin(1e-12));

    const double end = 0.3 * made.end;
    made.system->closed_form(end, exact);
    const double size = largest(exact);
    const auto error = [&](const State& x) {
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i) worst = std::max(worst, std::abs(x[i] - exact[i]));
      return worst / size;
    };
    const Went by_default(made, end, {});
    REQUIRE(by_default.outcome.kind == Outcome::Kind::reached);
    CHECK(error(by_default.driver.state()) < 1e-6);

    // Steps of rk4 small enough for its order and large enough for no rounding: those that
    // dopri5 chose on average, halved and halved again.
    const double step = end / static_cast<double>(by_default.driver.statistics().accepted) / 4;
    std::vector<double> steps, errors;
    for (const double dt : {step, step / 2, step / 4}) {
      const Went went(made, end, {.method = "rk4", .dt = dt});
      steps.push_back(dt);
      errors.push_back(error(went.driver.state()));
    }
    INFO("errors " << errors[0] << ", " << errors[1] << ", " << errors[2]);
    CHECK((errors[0] < 1e-13 || log_log_slope(steps, errors) > 3.5));
  }
}

TEST_CASE("a run that is cut goes on to the same bits", "[fast][properties]") {
  for (const Example& example : examples()) {
    INFO(example.text());
    const Made made(example);
    const double end = 0.2 * made.end;
    Went whole(made, end, made.options);
    for (const std::int64_t cut : {std::int64_t{0}, whole.driver.statistics().accepted / 2}) {
      FlowDriver::Options options = made.options;
      std::int64_t asked = 0;
      options.interrupted = [&] { return asked++ == cut; };
      const Went begun(made, end, options);
      const ResumePoint point = begun.driver.resume_point();
      FlowDriver resumed(*made.system, const_cast<Workers&>(made.workers), made.options);
      resumed.restore(*point.x, point.t, point.memory);
      CHECK(resumed.advance(end).kind == whole.outcome.kind);
      CHECK(same_bits(resumed.state(), whole.driver.state()));
      CHECK(resumed.statistics().evaluations == whole.driver.statistics().evaluations);
      CHECK(same_bits(resumed.passages(), whole.driver.passages()));
      CHECK(resumed.events().size() == whole.driver.events().size());
    }
  }
}

// ---- noisy modes

/// A noisy example's driver.
std::unique_ptr<Driver> noisy_driver(Made& made, DriverHooks hooks = {}) {
  settle_mode(made.config.options, *made.system);
  return make_driver(*made.system, made.workers, made.config.options, 0, std::move(hooks));
}

TEST_CASE("any number of threads gives the same noisy run", "[fast][properties][noise]") {
  REQUIRE(noisy_examples().size() > 20);
  for (const Example& example : noisy_examples()) {
    INFO(example.text());
    Made one(example, 1);
    Made four(example, 4);
    const auto a = noisy_driver(one);
    const auto b = noisy_driver(four);
    REQUIRE(a->advance(one.end).kind == Outcome::Kind::reached);
    REQUIRE(b->advance(four.end).kind == Outcome::Kind::reached);
    CHECK(same_bits(a->state(), b->state()));
    CHECK_FALSE(same_bits(a->state(), one.start()));
    CHECK(same_bits(one.observe(a->state(), one.end), four.observe(b->state(), four.end)));
    for (const double value : one.observe(a->state(), one.end)) CHECK_FALSE(std::isinf(value));
  }
}

TEST_CASE("a noisy run of any system that is cut goes on to the same bits",
          "[fast][properties][noise]") {
  for (const Example& example : noisy_examples()) {
    INFO(example.text());
    Made made(example);
    const auto whole = noisy_driver(made);
    whole->advance(made.end);
    for (const std::int64_t cut : {std::int64_t{0}, whole->statistics().accepted / 2}) {
      std::int64_t asked = 0;
      const auto begun = noisy_driver(made, {[&] { return asked++ == cut; }, {}});
      begun->advance(made.end);
      const ResumePoint point = begun->resume_point();
      const auto resumed = noisy_driver(made);
      resumed->restore(*point.x, point.t, point.memory);
      CHECK(resumed->advance(made.end).kind == Outcome::Kind::reached);
      CHECK(same_bits(resumed->state(), whole->state()));
      CHECK(resumed->statistics().samples == whole->statistics().samples);
      CHECK(resumed->events().size() == whole->events().size());
    }
  }
}

TEST_CASE("every sampled model has the right-hand side for its mean", "[fast][properties][noise]") {
  // At the start, and where a noisy run has come to; 400 batches of 50 samples. Components within
  // 5.5 standard errors (or, where no sample moves them, within rounding): of the 3000 or so one is
  // out with probability 1e-4 with another seed. A finite context's bias is below that: examples
  // have none, or contexts too long for it.
  for (const Example& example : noisy_examples()) {
    Made made(example);
    if (!made.system->has_samples()) continue;
    INFO(example.text());
    const auto driver = noisy_driver(made);
    driver->advance(made.end);
    for (const std::vector<double>& x :
         {made.start(), std::vector<double>(driver->state().begin(), driver->state().end())}) {
      const auto n = static_cast<Eigen::Index>(x.size());
      SampleMean mean(n);
      Eigen::VectorXd v(n);
      const std::vector<double> weights(50, 1.0 / 50);
      for (std::uint64_t batch = 0; batch < 400; ++batch) {
        v.setZero();
        made.system->add_sampled(x, 0, {11, Purpose::test, 0, 50 * batch}, weights,
                                 {v.data(), x.size()});
        mean.add(v);
      }
      const std::vector<double> f = made.rhs(x, 0);
      const Eigen::VectorXd expected = Eigen::Map<const Eigen::VectorXd>(f.data(), n);
      const double size = expected.cwiseAbs().maxCoeff();
      CHECK(((mean.mean() - expected).cwiseAbs() - 5.5 * mean.standard_error()).maxCoeff() <=
            1e-13 * size);
    }
  }
}

TEST_CASE("a stated covariance is that of the samples", "[fast][properties][noise]") {
  // Second moments of every pair of components, from 20 000 samples, within 5.5 standard errors.
  for (const Example& example : noisy_examples()) {
    const Made made(example);
    if (!made.system->has_covariance()) continue;
    INFO(example.text());
    const std::vector<double> x = made.start();
    const auto n = static_cast<Eigen::Index>(x.size());
    Eigen::MatrixXd c(n, n);
    made.system->covariance(x, 0, c);
    const std::vector<double> f = made.rhs(x, 0);
    SampleMean products(n * n);
    Eigen::VectorXd v(n);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      v = -Eigen::Map<const Eigen::VectorXd>(f.data(), n);
      made.system->add_sampled(x, 0, {12, Purpose::test, 0, i}, std::vector<double>{1.0},
                               {v.data(), x.size()});
      products.add((v * v.transpose()).reshaped());
    }
    CHECK(((products.mean() - c.reshaped()).cwiseAbs() - 5.5 * products.standard_error())
              .maxCoeff() <= 1e-13 * c.cwiseAbs().maxCoeff());
  }
}

/// Where a method takes the start without any noise.
State without_noise(const Made& made, double end, const std::string& method, double eta, double dt,
                    std::int64_t order) {
  SdeDriver driver(*made.system, const_cast<Workers&>(made.workers),
                   {.method = method,
                    .learning_rate = eta,
                    .dt = dt,
                    .noise = "isotropic",
                    .noise_scale = 0,
                    .modified_equation = order});
  REQUIRE(driver.advance(end).kind == Outcome::Kind::reached);
  return driver.state();
}

double distance(const State& a, const State& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

TEST_CASE("gradient descent goes to the flow at order 1 and to the second modified equation at 2",
          "[slow][properties][noise]") {
  // Without noise, so to rounding: halving eta divides the distances by 2 and 4. The second
  // equation is solved with steps of order eta^3, whose error falls faster than what is measured.
  for (const Example& example : noisy_examples()) {
    const Made made(example);
    if (!made.system->why_no_noise().empty()) continue;
    if (example.text().find("relu") != std::string::npos) continue;  // kinks have no order
    if (example.text().find("--l1") != std::string::npos) continue;
    INFO(example.text());
    FlowDriver flow(*made.system, const_cast<Workers&>(made.workers),
                    {.method = "dopri5", .rtol = 1e-12, .atol = 1e-13});
    const double end = std::min(1.0, made.end);
    REQUIRE(flow.advance(end).kind == Outcome::Kind::reached);
    std::vector<double> first, second;
    for (const double part : {1.0 / 8, 1.0 / 16}) {
      const double eta = part * end, dt = part * part * eta / 4;
      const State descent = without_noise(made, end, "gradient_descent", eta, eta, 1);
      first.push_back(distance(descent, flow.state()));
      second.push_back(distance(descent, without_noise(made, end, "euler_maruyama", eta, dt, 2)));
    }
    CHECK(first[0] / first[1] == Approx(2).epsilon(0.25));
    CHECK(second[0] / second[1] == Approx(4).epsilon(0.35));
    CHECK(second[1] < 0.25 * first[1]);
  }
}

}  // namespace
}  // namespace popflow::test
