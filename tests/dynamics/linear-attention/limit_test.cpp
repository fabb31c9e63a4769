#include <cmath>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/subject.hpp"

// Limit and conserved quantity of the flow, and its reduction to diagonal matrices.

using namespace popflow;
using namespace popflow::test;
using Eigen::ArrayXd, Eigen::MatrixXd, Eigen::VectorXd;

namespace {

Subject subject(const std::string& eigenvalues, const std::string& pairs,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--eigenvalues", eigenvalues, "--context-length", pairs};
  words.insert(words.end(), more.begin(), more.end());
  return {"linear-attention", words};
}

ArrayXd gamma(const ArrayXd& lambda, double N) { return (1 + 1 / N) * lambda + lambda.sum() / N; }

const std::vector<std::string> kRandom = {"--coordinates", "full", "--start", "random"};

}  // namespace

TEST_CASE("linear-attention: the limit of Theorem 4.1", "[fast][linear-attention]") {
  struct Case {
    std::string eigenvalues;
    std::string pairs;
    std::vector<std::string> more;
    ArrayXd lambda;
  };
  const ArrayXd uneven = (ArrayXd(3) << 1, 0.5, 0.25).finished();
  for (const Case& of :
       {Case{"1,1,1,1", "5", {}, ArrayXd::Ones(4)}, Case{"1,0.5,0.25", "20", {}, uneven},
        Case{"1,0.5,0.25", "3", kRandom, uneven},
        Case{"0.8", "1", {}, ArrayXd::Constant(1, 0.8)}}) {
    INFO(of.eigenvalues << ", N = " << of.pairs);
    Subject s = subject(of.eigenvalues, of.pairs, of.more);
    const FlowOf flow(s, s.end);
    REQUIRE(flow.outcome == Outcome::Kind::reached);
    const ArrayXd g = gamma(of.lambda, std::stod(of.pairs));
    const double trace = g.square().inverse().sum();
    CHECK(flow.x[0] == Approx(std::pow(trace, 0.25)).epsilon(1e-8));
    const ArrayXd limit = std::pow(trace, -0.25) / g;
    const bool all = !of.more.empty();
    const MatrixXd expected =
        all ? MatrixXd(limit.matrix().asDiagonal()) : MatrixXd(limit.matrix());
    const VectorXd found = s.field("W_KQ", flow.x);
    CHECK((found - expected.reshaped()).norm() < 1e-8 * limit.matrix().norm());
    const auto seen = s.observe(flow.x);
    CHECK(seen.at("distance") < 1e-8);
    CHECK(seen.at("excess_loss") < 1e-14);
    CHECK(s.constant("loss_minimum") ==
          Approx((of.lambda - of.lambda.square() / g).sum() / 2).epsilon(1e-13));
    CHECK(flow.driver.events().size() == 1);
  }
}

TEST_CASE("linear-attention: the balance is conserved", "[fast][linear-attention]") {
  Subject s = subject("1.3,0.7,0.4", "4",
                      {"--coordinates", "full", "--start", "random", "--init-scale", "0.7"});
  CHECK(s.observe(s.start()).at("balance") == Approx(0).margin(1e-15));
  const FlowOf flow(s, s.end);
  CHECK(std::abs(s.observe(flow.x).at("balance")) < 1e-10);
  // The balance's derivative along the flow is 0 also at states where the balance is not 0.
  VectorXd x = s.start();
  x[0] += 0.4;
  const VectorXd f = s.rhs(x);
  CHECK(std::abs(x.tail(9).dot(f.tail(9)) - x[0] * f[0]) < 1e-15);
}

TEST_CASE("linear-attention: diagonal coordinates follow the flow of the full matrix",
          "[fast][linear-attention]") {
  Subject reduced = subject("2,1,0.5,0.25", "6");
  Subject whole = subject("2,1,0.5,0.25", "6", {"--coordinates", "full"});
  for (const double end : {5.0, 10.0, 20.0, 80.0}) {
    const FlowOf one(reduced, end), two(whole, end);
    const MatrixXd U = two.x.tail(16).reshaped(4, 4);
    CHECK((U - MatrixXd(U.diagonal().asDiagonal())).norm() == 0);
    CHECK((U.diagonal() - one.x.tail(4)).norm() < 1e-9);
    CHECK(two.x[0] == Approx(one.x[0]).epsilon(1e-9));
    const auto a = reduced.observe(one.x), b = whole.observe(two.x);
    for (const auto& [name, value] : a)
      CHECK(value == Approx(b.at(name)).epsilon(1e-8).margin(1e-9));
  }
  // Equal variances leave two numbers, since all entries of the diagonal are equal.
  Subject even = subject("0.7,0.7,0.7", "6");
  const FlowOf flow(even, 30);
  CHECK(flow.x[1] == flow.x[2]);
  CHECK(flow.x[1] == flow.x[3]);
  CHECK(flow.x[0] == Approx(std::sqrt(3) * flow.x[1]).epsilon(1e-9));
  CHECK_THROWS_AS(subject("1,0.5", "6", {"--start", "random"}), UsageError);
}

TEST_CASE("linear-attention: the plateau is left at the rate |Lambda^2|_F",
          "[fast][linear-attention]") {
  Subject s = subject("1,0.5,0.25", "20", {"--init-scale", "1e-8"});
  const ArrayXd lambda = (ArrayXd(3) << 1, 0.5, 0.25).finished();
  const double rate = lambda.square().matrix().norm();
  const FlowOf one(s, 6, 1e-12), two(s, 10, 1e-12);
  CHECK(std::log(two.x[0] / one.x[0]) == Approx(4 * rate).epsilon(1e-3));
  CHECK((two.x.tail(3) / two.x[0] - lambda.square().matrix() / rate).norm() < 1e-3);
}

TEST_CASE("linear-attention: long test prompts leave an error of order 1/N^2",
          "[fast][linear-attention]") {
  const ArrayXd lambda = (ArrayXd(3) << 1, 0.5, 0.25).finished();
  std::vector<double> left;
  for (const std::string pairs : {"1000", "2000"}) {
    Subject s = subject("1,0.5,0.25", pairs, {"--test-length", "1e15"});
    const FlowOf flow(s, s.end);
    left.push_back(s.observe(flow.x).at("test_loss"));
    const ArrayXd missing = 1 - lambda / gamma(lambda, std::stod(pairs));
    CHECK(left.back() == Approx((lambda * missing.square()).sum() / 2).epsilon(1e-7));
  }
  CHECK(left[0] / left[1] == Approx(4).epsilon(0.01));
}
