#include <cmath>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/subject.hpp"

// The modes' equation, its closed form, and random starts.

using namespace popflow;
using namespace popflow::test;
using Eigen::ArrayXd, Eigen::MatrixXd, Eigen::VectorXd;

namespace {

Subject subject(const std::string& strengths, int layers, const std::string& scale,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--strengths",          strengths,      "--layers",
                                    std::to_string(layers), "--init-scale", scale};
  words.insert(words.end(), more.begin(), more.end());
  return {"deep-linear", words};
}

/// Returns the time in which a solution of da/dt = L a^(2 - 2/L) (s - a) grows from g^L to s/2, by
/// Simpson's rule in log a.
double half_time(double s, int layers, double g) {
  const double L = layers, from = L * std::log(g), h = (std::log(s / 2) - from) / 20'000;
  const auto slowness = [&](int i) {
    const double a = std::exp(from + h * i);
    return a / (L * std::pow(a, 2 - 2 / L) * (s - a));
  };
  double sum = 0;
  for (int i = 0; i < 20'000; i += 2) sum += slowness(i) + 4 * slowness(i + 1) + slowness(i + 2);
  return sum * h / 3;
}

}  // namespace

TEST_CASE("deep-linear: plateaus so long that the rounding of t hides their end are refused",
          "[fast][deep-linear]") {
  for (const int layers : {17, 20, 40})
    CHECK_THROWS_WITH(subject("4,2,1", layers, "0.03"),
                      Catch::Contains("--layers " + std::to_string(layers)) &&
                          Catch::Contains("--init-scale 0.03"));
  CHECK_THROWS_AS(subject("4,2,1", 10, "1e-4"), UsageError);
  CHECK_NOTHROW(subject("4,2,1", 16, "0.03"));
  CHECK_NOTHROW(subject("4,2,1", 40, "0.5"));
}

TEST_CASE("deep-linear: two layers follow the sigmoid", "[fast][deep-linear]") {
  Subject s = subject("4,2,1,0", 2, "0.03");
  const ArrayXd strengths = (ArrayXd(4) << 4, 2, 1, 0).finished();
  const double g2 = 0.03 * 0.03;
  for (const double t : {0.0, 0.5, 1.0, 2.0, 4.0, 9.0}) {
    const FlowOf flow(s, t);
    ArrayXd expected = strengths / (1 + (strengths / g2 - 1) * (-2 * strengths * t).exp());
    expected[3] = g2 / (1 + 2 * g2 * t);  // limit for s = 0
    CHECK((s.field("mode_strength", flow.x).array() - expected).abs().maxCoeff() < 1e-9);
    VectorXd exact(flow.x.size());
    REQUIRE(s.system->capabilities().closed_form);
    s.system->capabilities().closed_form->closed_form(t, {exact.data(), 32});
    CHECK((exact - flow.x).cwiseAbs().maxCoeff() < 1e-9);
    CHECK(s.observe(flow.x).at("loss") ==
          Approx((strengths - expected).square().sum() / 2).epsilon(1e-6));
  }
  const FlowOf flow(s, s.end);
  for (Eigen::Index k = 0; k < 3; ++k)
    CHECK(flow.driver.passages()[static_cast<std::size_t>(k)] ==
          Approx(std::log(strengths[k] / g2 - 1) / (2 * strengths[k])).epsilon(1e-7));
  CHECK(std::isnan(flow.driver.passages()[3]));
  CHECK_FALSE(subject("4,2", 3, "0.3").system->capabilities().closed_form);
  CHECK_FALSE(subject("4,2", 2, "0.3", {"--start", "gaussian"}).system->capabilities().closed_form);
  CHECK_THROWS_AS(subject("0,0", 2, "0.3"), UsageError);
}

TEST_CASE("deep-linear: at any depth the modes are decoupled", "[fast][deep-linear]") {
  for (const int layers : {1, 2, 3, 5}) {
    INFO(layers << " layers");
    Subject s = subject("2,1.5,0.7", layers, "0.4");
    const FlowOf flow(s, s.end);
    REQUIRE(flow.outcome == Outcome::Kind::reached);
    const std::vector<double> strengths = {2, 1.5, 0.7};
    for (std::size_t k = 0; k < 3; ++k) {
      // With one layer the mode of strength 0.7 starts at 0.4, beyond half of its strength.
      const bool beyond = std::pow(0.4, layers) > strengths[k] / 2;
      if (beyond)
        CHECK_FALSE(flow.driver.passages()[k] > 0);
      else
        CHECK(flow.driver.passages()[k] ==
              Approx(half_time(strengths[k], layers, 0.4)).epsilon(1e-6));
    }
    CHECK(s.observe(flow.x).at("misalignment") == 0);
    CHECK(s.observe(flow.x).at("loss") < 1e-12);
    REQUIRE(flow.driver.events().size() == 1);
    const FlowOf there(s, flow.driver.events()[0].time);
    CHECK(s.observe(there.x).at("loss") == Approx(0.005 * (4 + 2.25 + 0.49)).epsilon(1e-6));
  }
}

TEST_CASE("deep-linear: rosenbrock4 crosses the plateaus of many layers",
          "[fast][numbers][deep-linear]") {
  Subject s = subject("4,2,1", 6, "0.1");
  FlowDriver driver(*s.system, s.workers, {.method = "rosenbrock4", .rtol = 1e-10, .atol = 1e-12});
  REQUIRE(driver.advance(s.end).kind == Outcome::Kind::reached);
  for (std::size_t k = 0; k < 3; ++k)
    CHECK(driver.passages()[k] == Approx(half_time(4 / std::pow(2, k), 6, 0.1)).epsilon(1e-7));
  // Explicit methods need steps below 1 once modes are learned; the run ends at twice the last
  // first-passage time.
  CHECK(driver.statistics().accepted < 4000);
  CHECK(s.end == Approx(2 * driver.passages()[2]).epsilon(0.01));
}

TEST_CASE("deep-linear: small random starts learn mode by mode, at predicted times",
          "[fast][deep-linear]") {
  for (const std::string seed : {"1", "2", "3"}) {
    Subject s =
        subject("4,2,1,0.5,0,0", 2, "1e-4", {"--start", "gaussian", "--problem-seed", seed});
    const VectorXd start = s.start();
    const MatrixXd W1 = start.head(36).reshaped<Eigen::RowMajor>(6, 6);
    const MatrixXd W2 = start.tail(36).reshaped<Eigen::RowMajor>(6, 6);
    const FlowOf flow(s, 60, 1e-10, 1e-10);
    MatrixXd taken(6, 0);  // stronger modes occupy these directions of the hidden layer
    double before = 0;
    for (Eigen::Index k = 0; k < 4; ++k) {
      const double strength = std::pow(2, 2 - k),
                   found = flow.driver.passages()[static_cast<std::size_t>(k)];
      VectorXd c = W1.col(k) + W2.row(k).transpose();
      c -= taken * (taken.transpose() * c);
      CHECK(found ==
            Approx(std::log(4 * strength / c.squaredNorm() - 1) / (2 * strength)).epsilon(1e-4));
      CHECK(found > before);
      before = found;
      taken.conservativeResize(6, k + 1);
      taken.col(k) = c.normalized();
    }
    CHECK(s.observe(flow.x).at("misalignment") < 1e-6);
  }
}
