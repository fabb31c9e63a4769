// The fast sampler against the flow, and against samples drawn without any shortcut.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "support/bigram_sampler.hpp"
#include "support/monte_carlo.hpp"
#include "support/scb_fixture.hpp"

namespace popflow::scb::test {
namespace {

using popflow::test::SampleMean;

Eigen::VectorXd sampled(const Scb& system, const Eigen::VectorXd& x, std::uint64_t first,
                        const std::vector<double>& weights) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(x.size());
  system.add_sampled({x.data(), static_cast<std::size_t>(x.size())}, 0,
                     {7, Purpose::test, 0, first}, weights,
                     {out.data(), static_cast<std::size_t>(out.size())});
  return out;
}

TEST_CASE("The mean of sampled gradients is the flow", "[fast][scb][noise]") {
  // 2000 batches of 100; every component within 5.5 standard errors: of the 400 components of all
  // variants one is out with probability 2e-5 with another seed.
  const Problem problem = uneven_problem(4, 9, 3, 4);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
    const Eigen::VectorXd x = random_state(*system, 0.4, 5);
    SampleMean mean(x.size());
    for (std::uint64_t batch = 0; batch < 2000; ++batch)
      mean.add(sampled(*system, x, 100 * batch, std::vector<double>(100, 0.01)));
    CHECK(mean.worst_z(rhs(*system, x)) < 5.5);
    CHECK(mean.standard_error().maxCoeff() < 0.05 * mean.mean().cwiseAbs().maxCoeff());
  }
}

TEST_CASE("Sampled gradients have the covariance of the model", "[fast][scb][noise]") {
  // Second moments along ten random directions, from 40 000 samples of each sampler; they agree
  // within 5 standard errors of their difference.
  const Problem problem = uneven_problem(3, 7, 2, 4);
  const Variant variant{false, false, false};
  const auto system =
      make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
  const Eigen::VectorXd x = random_state(*system, 0.4, 5);
  const auto [V, A] = recorded(*system, x);
  RandomStream random(8, Purpose::test);
  const Eigen::MatrixXd directions = normal_matrix(x.size(), 10, random);
  const BigramSampler slow(problem);
  SampleMean ours(10), theirs(10);
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    ours.add((directions.transpose() * sampled(*system, x, i, {1.0})).array().square().matrix());
    const Sample sample = slow.draw(random);
    const SampleLoss of = sample_loss(sample, V, A);
    Eigen::VectorXd v = Eigen::VectorXd::Zero(x.size());
    v.head(9) = -Eigen::Map<const Eigen::VectorXd>(of.by_V.data(), 9);
    v.segment(9 + 7 * sample.query, 7) = -of.by_a;
    theirs.add((directions.transpose() * v).array().square().matrix());
  }
  const Eigen::VectorXd error =
      (ours.standard_error().array().square() + theirs.standard_error().array().square()).sqrt();
  CHECK((ours.mean() - theirs.mean()).cwiseAbs().cwiseQuotient(error).maxCoeff() < 5);
}

TEST_CASE("A weighted sum of samples is the sum of the samples", "[fast][scb][noise]") {
  const Problem problem = uneven_problem(4, 9, 3, 4);
  for (const Variant& variant : all_variants()) {
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
    const Eigen::VectorXd x = random_state(*system, 0.4, 5);
    const std::vector<double> weights = {0.3, -1, 2, 0, 0.7};
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(x.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += sampled(*system, x, 50 + i, {weights[i]});
    CHECK(difference(sampled(*system, x, 50, weights), sum) < 1e-13);
    // Onto the state itself, as SGD takes its steps.
    Eigen::VectorXd moved = x;
    system->add_sampled({moved.data(), static_cast<std::size_t>(x.size())}, 0,
                        {7, Purpose::test, 0, 50}, weights,
                        {moved.data(), static_cast<std::size_t>(x.size())});
    CHECK(difference(moved, x + sum) < 1e-13);
  }
}

TEST_CASE("Every single sample keeps the sums that noise is projected on", "[fast][scb][noise]") {
  const Problem problem = uneven_problem(4, 9, 3, 4);
  for (const bool softmax : {false, true}) {
    const auto system = make_scb(problem, {softmax, true, true}, Coordinates::full,
                                 start_value(problem, From::transfer));
    const Eigen::VectorXd x = random_state(*system, 0, 5);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Eigen::VectorXd v = sampled(*system, x, i, {1.0});
      Eigen::VectorXd projected = v;
      system->project_noise({x.data(), static_cast<std::size_t>(x.size())},
                            {projected.data(), static_cast<std::size_t>(projected.size())});
      CHECK(difference(projected, v) < 1e-13);
    }
  }
}

TEST_CASE("An alias table draws as often as it should", "[fast][scb][noise]") {
  // Over all 2^16 high halves of a random number: frequencies right to 1/2^16 a place.
  Eigen::VectorXd probabilities(7);
  probabilities << 0.5, 0.01, 0.2, 0, 0.09, 0.15, 0.05;
  const AliasTable table(probabilities);
  Eigen::VectorXd found = Eigen::VectorXd::Zero(7);
  for (std::uint32_t i = 0; i < 65536; ++i) found[table.draw(i << 16 | 0x8000)] += 1.0 / 65536;
  CHECK((found - probabilities).cwiseAbs().maxCoeff() < 8.0 / 65536);
  CHECK(found[3] == 0);
}

}  // namespace
}  // namespace popflow::scb::test
