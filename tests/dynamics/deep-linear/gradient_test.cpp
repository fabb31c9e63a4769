
#include "dynamics/common/normals.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/monte_carlo.hpp"
#include "support/subject.hpp"

// Flow and samples compared with differences of the loss; conservation laws.

using namespace popflow;
using namespace popflow::test;
using Eigen::MatrixXd, Eigen::VectorXd;

namespace {

Subject subject(int layers, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--strengths",          "2,1,0.5", "--layers",
                                    std::to_string(layers), "--start", "gaussian",
                                    "--init-scale",         "0.9"};
  words.insert(words.end(), more.begin(), more.end());
  return {"deep-linear", words};
}

MatrixXd layer(const VectorXd& x, Eigen::Index l) {
  return x.segment(9 * l, 9).reshaped<Eigen::RowMajor>(3, 3);
}

MatrixXd product(const VectorXd& x) {
  MatrixXd W = MatrixXd::Identity(3, 3);
  for (Eigen::Index l = 0; l < x.size() / 9; ++l) W = layer(x, l) * W;
  return W;
}

const MatrixXd kTeacher = VectorXd((VectorXd(3) << 2, 1, 0.5).finished()).asDiagonal();

/// Returns the balances W_l W_l' - W_{l+1}' W_{l+1} of all layers.
VectorXd balances(const VectorXd& x) {
  VectorXd all(x.size() - 9);
  for (Eigen::Index l = 0; l + 1 < x.size() / 9; ++l)
    all.segment(9 * l, 9) =
        (layer(x, l) * layer(x, l).transpose() - layer(x, l + 1).transpose() * layer(x, l + 1))
            .reshaped();
  return all;
}

}  // namespace

TEST_CASE("deep-linear: the flow is minus the gradient of the loss", "[fast][deep-linear]") {
  for (const int layers : {1, 2, 3, 6}) {
    const Subject s = subject(layers);
    const VectorXd x = s.start();
    CHECK(s.loss(x) == Approx((kTeacher - product(x)).squaredNorm() / 2).epsilon(1e-13));
    CHECK((s.field("mode_strength", x) - product(x).diagonal()).norm() < 1e-14);
    CHECK(s.observe(x).at("imbalance") == Approx(balances(x).norm()).margin(1e-14));
    // The loss has degree two in each entry, so the difference formula is exact.
    const VectorXd by = gradient([&](const VectorXd& at) { return s.loss(at); }, x, 0.1);
    CHECK((s.rhs(x) + by).norm() < 1e-12 * by.norm());
    // The right-hand side has degree at most two in each entry, so its differences are exact too.
    const MatrixXd second = jacobian([&](const VectorXd& at) { return s.rhs(at); }, x, 0.1);
    MatrixXd stated = MatrixXd::Zero(x.size(), x.size());
    std::vector<double> in_time(x.size());
    s.system->capabilities().jacobian->jacobian(Subject::span(x), 0, stated, in_time);
    CHECK((stated - second).norm() < 1e-12 * second.norm());
  }
}

TEST_CASE("deep-linear: a sample is the gradient of its own loss", "[fast][deep-linear][noise]") {
  for (const int layers : {1, 2, 4}) {
    const Subject s = subject(layers, {"--label-noise", "0.3"});
    const VectorXd x = s.start();
    for (std::uint64_t i = 0; i < 10; ++i) {
      RandomStream random = SampleKey{7, Purpose::test, 0, i}.stream(0);
      const VectorXd input = normals(random, 3);
      const VectorXd label = kTeacher * input + 0.3 * normals(random, 3);
      const auto loss = [&](const VectorXd& at) {
        return (label - product(at) * input).squaredNorm() / 2;
      };
      const VectorXd by = gradient(loss, x, 0.1);
      CHECK((sampled(*s.system, x, i, {0.7}) + 0.7 * by).norm() < 1e-11 * by.norm());
    }
  }
}

TEST_CASE("deep-linear: all balances are conserved from every start", "[fast][deep-linear]") {
  for (const int layers : {2, 3, 5}) {
    Subject s = subject(layers);
    const VectorXd start = s.start();
    REQUIRE(balances(start).norm() > 0.1);
    const FlowOf flow(s, 20);
    CHECK((balances(flow.x) - balances(start)).cwiseAbs().maxCoeff() < 1e-9);
    CHECK((flow.x - start).norm() > 0.1);
    CHECK(s.observe(flow.x).at("imbalance") ==
          Approx(s.observe(start).at("imbalance")).epsilon(1e-9));
  }
}
