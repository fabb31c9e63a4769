// Norms of the errors of a step's entries: the largest, or the root mean square.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "popflow/flow_driver.hpp"
#include "steppers/tolerance.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

namespace popflow::test {
namespace {

/// A state with fields of 2 and of 50 000 entries before and after a step, and its errors.
struct Step {
  static constexpr std::size_t kFirst = 2, kEntries = 50'002;
  const std::vector<StateBlock> blocks = {{"few", kFirst, 100}, {"many", kEntries - kFirst, 0.1}};
  State x{kEntries}, x_new{kEntries};
  std::vector<double> errors = std::vector<double>(kEntries);

  Step() {
    for (std::size_t i = 0; i < kEntries; ++i) {
      const double of_i = static_cast<double>(i);
      x[i] = std::sin(of_i);
      x_new[i] = 1.1 * std::cos(0.3 * of_i);
      errors[i] = 1e-4 * std::sin(0.7 * of_i);
    }
  }
  [[nodiscard]] double error(ErrorNorm norm, unsigned threads) const {
    Workers workers(threads);
    const Tolerance tolerance(blocks, 1e-3, 1e-5, norm);
    return error_of_step(workers, tolerance, x, x_new, [this](std::size_t i) { return errors[i]; });
  }
  /// Returns the norms by their definitions, entry by entry.
  [[nodiscard]] double by_definition(ErrorNorm norm) const {
    double largest = 0, squares = 0;
    for (std::size_t i = 0; i < kEntries; ++i) {
      const double may =
          1e-5 * (i < kFirst ? 100 : 0.1) + 1e-3 * std::max(std::abs(x[i]), std::abs(x_new[i]));
      largest = std::max(largest, std::abs(errors[i]) / may);
      squares += std::pow(errors[i] / may, 2);
    }
    return norm == ErrorNorm::largest ? largest : std::sqrt(squares / kEntries);
  }
};

TEST_CASE("the error of a step is the norm of its entries' errors, on any number of threads",
          "[fast][steppers]") {
  const ErrorNorm norm = GENERATE(ErrorNorm::largest, ErrorNorm::rms);
  Step step;
  const double here = step.error(norm, 1);
  CHECK(here == Approx(step.by_definition(norm)).epsilon(1e-13));
  CHECK(step.error(norm, 3) == here);
  for (const std::size_t bad : {std::size_t{0}, std::size_t{1}, std::size_t{40'000}}) {
    Step other;
    other.errors[bad] = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(std::isfinite(other.error(norm, 2)));
    Step far;
    far.x_new[bad] = 2 * kLargestEntry;
    CHECK_FALSE(std::isfinite(far.error(norm, 2)));
  }
}

constexpr std::size_t kAll = 16;

/// System of kAll entries, of which `moving` oscillate and the others rest. Slopes do not vanish at
/// the start, where first steps would be short in either norm.
ToySystem some_move(std::size_t moving) {
  Toy toy;
  toy.start = std::vector<double>(kAll, 0.5);
  toy.rhs = [moving](StateView x, double t, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = i < moving ? std::cos(3 * t) - x[i] * x[i] * x[i] : 0;
  };
  toy.jacobian = [moving](auto x, double t, std::span<double> j, std::span<double> by_time) {
    std::fill(j.begin(), j.end(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i < moving) j[i * x.size() + i] = -3 * x[i] * x[i];
      by_time[i] = i < moving ? -3 * std::sin(3 * t) : 0;
    }
  };
  return ToySystem(toy);
}

double steps(const std::string& method, std::size_t moving, ErrorNorm norm) {
  const ToySystem system = some_move(moving);
  Workers workers(1);
  FlowDriver driver(system, workers,
                    {.method = method, .rtol = 1e-9, .atol = 1e-11, .error_norm = norm});
  REQUIRE(driver.advance(30).kind == Outcome::Kind::reached);
  return static_cast<double>(driver.statistics().accepted);
}

TEST_CASE("with the rms norm steps are longer if fewer entries move", "[fast][numbers][steppers]") {
  struct Case {
    std::string method;
    double order;  // order of a step's error
  };
  const auto [method, order] =
      GENERATE(Case{"dopri5", 5}, Case{"fehlberg78", 8}, Case{"rosenbrock4", 4});
  INFO(method);
  const double all = steps(method, kAll, ErrorNorm::largest);
  // Both norms agree if all entries have equal errors.
  CHECK(steps(method, kAll, ErrorNorm::rms) == Approx(all).epsilon(0.01));
  // In the root mean square the error of one of sixteen entries counts a fourth.
  CHECK(steps(method, 1, ErrorNorm::largest) == Approx(all).epsilon(0.01));
  CHECK(all / steps(method, 1, ErrorNorm::rms) == Approx(std::pow(4, 1 / order)).epsilon(0.02));
}

TEST_CASE("bulirsch_stoer uses the error norm", "[fast][steppers]") {
  const double all = steps("bulirsch_stoer", kAll, ErrorNorm::largest);
  CHECK(steps("bulirsch_stoer", kAll, ErrorNorm::rms) == Approx(all).epsilon(0.03));
  // bulirsch_stoer chooses its order, so that a fourth of the error makes steps longer by less than
  // 4^(1/6).
  const double ratio = all / steps("bulirsch_stoer", 1, ErrorNorm::rms);
  CHECK(ratio > 1.02);
  CHECK(ratio < std::pow(4, 1 / 6.0));
}

TEST_CASE("adaptive splitting uses the error norm", "[fast][steppers]") {
  const auto steps_of = [](std::size_t moving, ErrorNorm norm) {
    Toy toy;
    toy.start = std::vector<double>(kAll, 0.5);
    toy.estimates_error = true;
    toy.rhs = [moving](StateView x, double t, std::span<double> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < moving ? std::cos(3 * t) - x[i] : 0;
    };
    toy.proximal = [moving](std::span<double> x, double dt) {
      for (std::size_t i = 0; i < moving; ++i) x[i] *= std::exp(-dt);
    };
    const ToySystem system(toy);
    Workers workers(1);
    FlowDriver driver(system, workers, {.rtol = 1e-6, .atol = 1e-8, .error_norm = norm});
    REQUIRE(driver.advance(10).kind == Outcome::Kind::reached);
    return static_cast<double>(driver.statistics().accepted);
  };
  const double all = steps_of(kAll, ErrorNorm::largest);
  CHECK(steps_of(kAll, ErrorNorm::rms) == Approx(all).epsilon(0.01));
  // The error of a step is of order h^3, while the step-size controller assumes order 2.
  CHECK(all / steps_of(1, ErrorNorm::rms) > std::pow(4, 0.3));
}

}  // namespace
}  // namespace popflow::test
