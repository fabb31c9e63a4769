#include <Eigen/Eigenvalues>
#include <cmath>
#include <functional>
#include <numbers>

#include "popflow/flow_driver.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"
#include "support/markov_sampler.hpp"
#include "support/monte_carlo.hpp"

// Distance of the flow and the two SDEs from SGD, without Monte Carlo. On w = 0 no sample moves w,
// so the state is the single number e. A step of SGD or of Euler-Maruyama maps a function u(e) to
// its expectation after the step. On a Chebyshev grid this map is a matrix, and its powers give
// moments of e after many steps to many digits. The last test compares the drivers' Monte Carlo
// moments with the same matrices.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;
using popflow::test::kWiderErrors;
using popflow::test::repetitions;

namespace {

constexpr double kStart = 2.4;
constexpr double kEnd = 2;
constexpr PQ kChain{0.2, 0.3};
const Sampling kPairs{.context_length = 2, .noisy = true};

/// Interpolation at Chebyshev points of an interval; runs stay far from its ends. Steps across the
/// ends leave errors of 1e-6 in the moments; the compared differences are larger.
class Grid {
 public:
  Grid() : points_(kSize), weights_(kSize) {
    for (Eigen::Index i = 0; i < kSize; ++i) {
      const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / kSize;
      points_[i] = kLow + (kHigh - kLow) * (1 + std::cos(angle)) / 2;
      weights_[i] = (i % 2 == 0 ? 1 : -1) * std::sin(angle);
    }
  }
  [[nodiscard]] const Eigen::VectorXd& points() const { return points_; }
  /// Returns the row that maps values at the points to the value at e (barycentric formula).
  [[nodiscard]] Eigen::RowVectorXd at(double e) const {
    e = std::clamp(e, kLow, kHigh);
    Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(kSize);
    for (Eigen::Index i = 0; i < kSize; ++i) {
      if (e == points_[i]) {
        row.setZero();
        row[i] = 1;
        return row;
      }
      row[i] = weights_[i] / (e - points_[i]);
    }
    return row / row.sum();
  }

 private:
  static constexpr Eigen::Index kSize = 96;
  static constexpr double kLow = 0.3, kHigh = 6;
  Eigen::VectorXd points_, weights_;
};

/// Returns the expectation after a step as a matrix: `step` calls its argument with each next e and
/// its probability.
using Visit = std::function<void(double e, double probability)>;
Eigen::MatrixXd operator_of(const Grid& grid, const std::function<void(double, Visit)>& step) {
  Eigen::MatrixXd P = Eigen::MatrixXd::Zero(grid.points().size(), grid.points().size());
  for (Eigen::Index i = 0; i < P.rows(); ++i)
    step(grid.points()[i],
         [&](double e, double probability) { P.row(i) += probability * grid.at(e); });
  return P;
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments after(const Grid& grid, const Eigen::MatrixXd& P, std::int64_t steps) {
  // Moments of e - 2, so that the variance loses few digits.
  Eigen::VectorXd first = grid.points().array() - 2;
  Eigen::VectorXd second = first.array().square();
  for (std::int64_t n = 0; n < steps; ++n) {
    first = P * first;
    second = P * second;
  }
  const double mean = grid.at(kStart).dot(first);
  return {2 + mean, grid.at(kStart).dot(second) - mean * mean};
}

Moments of_sgd(double eta) {
  // Batches of one transition, from the model's definition with the optimal bias.
  const Markov system = optimal(kChain, kStart, 0, kPairs);
  const Grid grid;
  const Eigen::MatrixXd P = operator_of(grid, [&](double e, const Visit& visit) {
    const double bias = recorded_bias(system, Eigen::Vector2d(e, 0));
    ChainSampler(kChain.p, kChain.q).enumerate([&](int now, int next, double probability) {
      visit(e - eta * pair_loss(now, next, {e, 0, bias}).by[0], probability);
    });
  });
  return after(grid, P, std::llround(kEnd / eta));
}

/// Nodes and weights for expectations over a standard normal (Golub and Welsch 1969).
std::pair<Eigen::VectorXd, Eigen::VectorXd> gauss_hermite(Eigen::Index n) {
  Eigen::MatrixXd jacobi = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 1; i < n; ++i)
    jacobi(i, i - 1) = jacobi(i - 1, i) = std::sqrt(static_cast<double>(i));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(jacobi);
  return {solver.eigenvalues(), solver.eigenvectors().row(0).array().square().matrix()};
}

double standard_deviation(const Markov& system, double e) {
  const Eigen::Vector2d x(e, 0);
  Eigen::MatrixXd c(2, 2);
  system.covariance(numbers_of(x), 0, c);
  return std::sqrt(c(0, 0));
}

/// Moments after Euler-Maruyama steps dt of the modified equation of order 1 or 2.
Moments of_euler(double eta, double dt, int order) {
  const Markov system = optimal(kChain, kStart, 0, kPairs);
  const Grid grid;
  const auto [nodes, weights] = gauss_hermite(16);
  const Eigen::MatrixXd P =
      operator_of(grid, [&, &nodes = nodes, &weights = weights](double e, const Visit& visit) {
        const double f = rhs(system, Eigen::Vector2d(e, 0))[0];
        double factor = 1;
        double from = e;
        if (order == 2) {
          Eigen::MatrixXd j(2, 2);
          double none[2];
          const Eigen::Vector2d x(e, 0);
          system.jacobian(numbers_of(x), 0, j, none);
          factor = 1 - eta / 2 * j(0, 0);
          from = e - eta / 2 * f;
        }
        const double spread = std::sqrt(eta * dt) * standard_deviation(system, from);
        for (Eigen::Index i = 0; i < nodes.size(); ++i)
          visit(e + factor * (f * dt + spread * nodes[i]), weights[i]);
      });
  return after(grid, P, std::llround(kEnd / dt));
}

/// Moments of the SDE itself: Richardson extrapolation removes four terms of Euler's error in dt.
Moments of_sde(double eta, int order) {
  std::vector<Moments> table;
  for (const int parts : {4, 8, 16, 32}) table.push_back(of_euler(eta, eta / parts, order));
  for (std::size_t level = 1; level < table.size(); ++level) {
    const double factor = std::pow(2.0, static_cast<double>(level));
    for (std::size_t i = table.size() - 1; i >= level; --i) {
      table[i].mean += (table[i].mean - table[i - 1].mean) / (factor - 1);
      table[i].variance += (table[i].variance - table[i - 1].variance) / (factor - 1);
    }
  }
  return table.back();
}

const std::vector<double> kRates = {0.2, 0.1, 0.05};

/// Order of errors at the successively halved rates kRates. The ratios of successive errors are
/// extrapolated linearly to rate 0.
double order_of(const std::vector<double>& errors) {
  std::vector<double> ratios;
  for (std::size_t i = 1; i < errors.size(); ++i) ratios.push_back(errors[i - 1] / errors[i]);
  const std::size_t n = ratios.size();
  return std::log2(2 * ratios[n - 1] - ratios[n - 2]);
}

/// Mean and variance of e over runs, with their standard errors.
struct OverRuns {
  Moments moments, error;
};

template <class Make>
OverRuns over_runs(std::uint32_t runs, const Make& make) {
  std::vector<double> ends(runs);
  double mean = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    auto driver = make(run);
    REQUIRE(driver.advance(kEnd).kind == Outcome::Kind::reached);
    CHECK(driver.state()[1] == 0);
    ends[run] = driver.state()[0];
    mean += ends[run] / runs;
  }
  double second = 0, fourth = 0;
  for (const double e : ends) {
    const double square = (e - mean) * (e - mean);
    second += square / runs;
    fourth += square * square / runs;
  }
  return {{mean, second}, {std::sqrt(second / runs), std::sqrt((fourth - second * second) / runs)}};
}

void check_same(const OverRuns& found, const Moments& expected) {
  INFO("mean " << found.moments.mean << " +- " << found.error.mean << ", exact " << expected.mean);
  INFO("variance " << found.moments.variance << " +- " << found.error.variance << ", exact "
                   << expected.variance);
  CHECK(std::abs(found.moments.mean - expected.mean) < 5 * found.error.mean);
  CHECK(std::abs(found.moments.variance - expected.variance) < 5 * found.error.variance);
}

}  // namespace

TEST_CASE("markov: SGD's mean is that of the flow to order 1 and that of the second SDE to order 2",
          "[fast][markov][noise]") {
  const Markov system = optimal(kChain, kStart, 0, kPairs);
  FlowDriver flow(system, pool(), {.rtol = 1e-13, .atol = 1e-15});
  REQUIRE(flow.advance(kEnd).kind == Outcome::Kind::reached);
  std::vector<double> of_flow, first, second;
  for (const double eta : kRates) {
    const double sgd = of_sgd(eta).mean;
    of_flow.push_back(flow.state()[0] - sgd);
    first.push_back(of_sde(eta, 1).mean - sgd);
    second.push_back(of_sde(eta, 2).mean - sgd);
    INFO("eta " << eta << ": flow " << of_flow.back() << ", sde " << first.back() << ", sde2 "
                << second.back());
    CHECK(std::abs(second.back()) < 0.25 * std::abs(first.back()));
  }
  CHECK(order_of(of_flow) == Approx(1).margin(0.05));
  CHECK(order_of(first) == Approx(1).margin(0.05));
  CHECK(order_of(second) == Approx(2).margin(0.1));
}

TEST_CASE("markov: the second SDE has the variance of noisy gradient descent at order 2",
          "[fast][markov][noise]") {
  // The variance is of order eta itself, so errors are relative. SGD's variance differs: the
  // modified equation matches only two moments of a sample. The third one changes the variance
  // through the drift's curvature, also by a relative order eta.
  std::vector<double> first, second;
  for (const double eta : kRates) {
    const double descent = of_euler(eta, eta, 1).variance;
    first.push_back(of_sde(eta, 1).variance / descent - 1);
    second.push_back(of_sde(eta, 2).variance / descent - 1);
    INFO("eta " << eta << ": sde " << first.back() << ", sde2 " << second.back());
    CHECK(std::abs(second.back()) < 0.2 * std::abs(first.back()));
  }
  CHECK(order_of(first) == Approx(1).margin(0.05));
  CHECK(order_of(second) == Approx(2).margin(0.1));
}

TEST_CASE("markov: the drivers' moments agree with those of exact steps", "[fast][markov][noise]") {
  // 20 000 runs; mean and variance lie within 5 standard errors (with another seed each fails with
  // probability 6e-7). The two SDEs and SGD differ by more than this bound.
  constexpr std::uint32_t kRuns = repetitions(20'000U);
  const double eta = 0.2;
  const Markov system = optimal(kChain, kStart, 0, kPairs);
  const OverRuns sgd = over_runs(kRuns, [&](std::uint32_t run) {
    return SgdDriver(system, pool(), {.learning_rate = eta, .batch_size = 1, .run = run});
  });
  const Moments exact = of_sgd(eta);
  check_same(sgd, exact);
  for (const int order : {1, 2}) {
    INFO("modified equation " << order);
    const double dt = eta / 4;
    const OverRuns sde = over_runs(kRuns, [&](std::uint32_t run) {
      return SdeDriver(system, pool(),
                       {.learning_rate = eta,
                        .batch_size = 1,
                        .dt = dt,
                        .modified_equation = order,
                        .run = run});
    });
    check_same(sde, of_euler(eta, dt, order));
    if (order == 1)
      CHECK(std::abs(of_euler(eta, dt, 1).variance - of_euler(eta, dt, 2).variance) >
            6 * sde.error.variance / kWiderErrors);
  }
}
