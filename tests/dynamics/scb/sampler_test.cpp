// The fast sampler compared with the flow, and with samples drawn without shortcuts.

#include <cmath>
#include <cstring>
#include <thread>

#include "noise/normals.hpp"
#include "popflow/sde_driver.hpp"
#include "support/bigram_sampler.hpp"
#include "support/catch.hpp"
#include "support/monte_carlo.hpp"
#include "support/scb_fixture.hpp"

namespace popflow::scb::test {
namespace {

using popflow::test::sampled;
using popflow::test::SampleMean;

TEST_CASE("The mean of sampled gradients is the flow", "[fast][scb][noise]") {
  // 2000 batches of 100. Every component lies within 5.5 standard errors; with another seed one of
  // the 400 components of all variants fails with probability 2e-5.
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
  // Compares second moments along ten random directions, from 40 000 samples of each sampler. They
  // agree within 5 standard errors of their difference.
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
    // SGD adds samples to the state itself.
    Eigen::VectorXd moved = x;
    system->add_sampled(view(moved), 0, {7, Purpose::test, 0, 50}, weights, view(moved));
    CHECK(difference(moved, x + sum) < 1e-13);
  }
}

TEST_CASE("Every single sample lies in the space that noise is projected on",
          "[fast][scb][noise]") {
  const Problem problem = uneven_problem(4, 9, 3, 4);
  for (const bool softmax : {false, true}) {
    const auto system = make_scb(problem, {softmax, true, true}, Coordinates::full,
                                 start_value(problem, From::transfer));
    const Eigen::VectorXd x = random_state(*system, 0, 5);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Eigen::VectorXd v = sampled(*system, x, i, {1.0});
      Eigen::VectorXd projected = v;
      system->project_noise(view(x), view(projected));
      CHECK(difference(projected, v) < 1e-13);
    }
  }
}

/// Draws sample i of a key from the words of its stream, as the sampler's documentation assigns
/// them.
Sample from_words(const Problem& problem, std::uint64_t i) {
  RandomStream random(7, Purpose::test, 0, i);
  std::vector<std::uint32_t> words;
  while (words.size() < static_cast<std::size_t>(problem.Q.context_length) + 4) {
    const std::uint64_t word = random();
    words.push_back(static_cast<std::uint32_t>(word));
    words.push_back(static_cast<std::uint32_t>(word >> 32));
  }
  const AliasTable tokens(problem.mu);
  Sample sample;
  sample.query = tokens.draw(words[0]);
  for (Eigen::Index t = 0; t < problem.Q.context_length; ++t)
    sample.context.push_back(tokens.draw(words[static_cast<std::size_t>(4 + t)]));
  const auto slot = AliasTable(problem.Q.weight.col(sample.query)).draw(words[1]);
  const auto s = static_cast<std::size_t>(problem.Q.position(slot, sample.query));
  sample.target = AliasTable(problem.P.col(sample.context[s])).draw(words[2]);
  return sample;
}

/// Returns v of one sample, from the gradient of its loss.
Eigen::VectorXd plain(const Problem& problem, const Variant& variant, const Sample& sample,
                      const Eigen::MatrixXd& V, const Eigen::MatrixXd& A) {
  const SampleLoss of = sample_loss(sample, V, A);
  Eigen::MatrixXd by_V = of.by_V;
  Eigen::VectorXd by_a = of.by_a;
  const Eigen::VectorXd a = A.col(sample.query);
  if (variant.softmax)
    by_a = (a.array() * (by_a.array() - a.dot(by_a))).matrix();
  else if (variant.project)
    by_a.array() -= by_a.mean();
  if (variant.inverse_frequency) {
    by_V = by_V * problem.mu.cwiseInverse().asDiagonal();
    by_a /= problem.mu[sample.query];
  }
  Eigen::VectorXd v = Eigen::VectorXd::Zero(V.size() + A.size());
  v.head(V.size()) = -by_V.reshaped();
  v.segment(V.size() + A.rows() * sample.query, A.rows()) = -by_a;
  return v;
}

TEST_CASE("Samples use the documented words of their streams", "[fast][scb][noise]") {
  // Contexts are no multiple of the sampler's blocks. One vocabulary is above 512, where the
  // sampler stores sums in another way.
  for (const auto& [N, T] : {std::pair<Eigen::Index, std::int64_t>{5, 9001}, {530, 1030}}) {
    const Problem problem = uneven_problem(N, T, 3, 4);
    for (const Variant& variant :
         {Variant{false, true, true}, Variant{true, true, true}, Variant{false, false, false}}) {
      if (N > 100 && variant.softmax) continue;
      INFO(describe(variant) << ", N = " << N);
      const auto system =
          make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
      const Eigen::VectorXd x = random_state(*system, 0.4, 5);
      const auto [V, A] = recorded(*system, x);
      const std::vector<double> weights = {0.3, -1, 2, 0, 0.7, 0.1, 1, 1.5, -0.4};
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(x.size());
      for (std::size_t i = 0; i < weights.size(); ++i)
        sum += weights[i] * plain(problem, variant, from_words(problem, 60 + i), V, A);
      CHECK(difference(sampled(*system, x, 60, weights), sum) < 1e-11);
    }
  }
}

TEST_CASE("Sampled gradients have the same bits on any number of threads", "[fast][scb][noise]") {
  const Problem problem = uneven_problem(6, 9001, 3, 4);
  const Variant variant;
  RandomStream random(8, Purpose::test);
  const Eigen::MatrixXd V = normal_matrix(6, 6, random);
  const Eigen::MatrixXd A = normal_matrix(9001, 6, random) / 9001;
  const std::vector<double> weights(70, 0.01);
  const auto add = [&](const Sampler& sampler, std::uint64_t first) {
    Eigen::VectorXd out = Eigen::VectorXd::Zero(36 + A.size());
    sampler.add(V, A.data(), {7, Purpose::test, 0, first}, weights, out.data(), out.data() + 36);
    return out;
  };
  Workers one(1), three(3);
  const Sampler alone(problem, variant, one);
  const Sampler shared(problem, variant, three);
  const auto same = [](const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
    return std::memcmp(a.data(), b.data(), sizeof(double) * static_cast<std::size_t>(a.size())) ==
           0;
  };
  const Eigen::VectorXd expected = add(alone, 0);
  CHECK(same(add(shared, 0), expected));
  CHECK(same(add(shared, 0), expected));  // now in memory that holds old values
  // Several threads call at once, as the runs of an ensemble do.
  std::vector<Eigen::VectorXd> results(3);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < 3; ++i)
    callers.emplace_back([&, i] {
      for (int again = 0; again < 3; ++again) results[i] = add(alone, 1000 * i);
    });
  for (std::thread& caller : callers) caller.join();
  for (std::size_t i = 0; i < 3; ++i) CHECK(same(results[i], add(alone, 1000 * i)));
}

TEST_CASE("A step in place equals a step along the derivative", "[fast][scb][noise]") {
  const Problem problem = uneven_problem(5, 1003, 3, 4);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
    CHECK(bool(system->capabilities().steps_in_place) == !variant.softmax);
    if (variant.softmax) continue;
    // One state's columns do not sum to one, the other state's columns do.
    for (const double size : {0.4, 0.0}) {
      const Eigen::VectorXd x = random_state(*system, size, 5);
      RandomStream random(2, Purpose::test);
      const Eigen::VectorXd z = normal_vector(x.size(), random);
      Eigen::VectorXd asked = Eigen::VectorXd::Zero(x.size());
      Eigen::VectorXd moved = x;
      bool keeps = variant.project;
      bool fetched = true;
      system->step_in_place(view(moved), {}, 0, 0.3,
                            [&](std::size_t begin, bool keeps_sum, std::span<double> out,
                                const double* next) -> Scaled {
                              if (next != moved.data() + begin) fetched = false;
                              const auto first = static_cast<Eigen::Index>(begin);
                              const auto count = static_cast<Eigen::Index>(out.size());
                              asked.segment(first, count).array() += 1;
                              Eigen::Map<Eigen::VectorXd>(out.data(), count) =
                                  z.segment(first, count);
                              if (keeps_sum != variant.project) keeps = !variant.project;
                              return {0.01, 0.002};
                            });
      CHECK(asked == Eigen::VectorXd::Ones(x.size()));
      CHECK(keeps == variant.project);
      CHECK(fetched);
      const Eigen::VectorXd expected =
          x + 0.3 * rhs(*system, x) + 0.01 * z + Eigen::VectorXd::Constant(x.size(), 0.002);
      CHECK(difference(moved, expected) < 1e-13);
    }
  }
}

TEST_CASE("A fused Euler step equals a step along the derivative, and its bound holds",
          "[fast][scb][flow]") {
  const Problem problem = uneven_problem(5, 1003, 3, 4);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::anywhere));
    CHECK(bool(system->capabilities().euler_step) == !variant.softmax);
    if (variant.softmax) continue;
    // States whose columns do not sum to one, whose columns do, and whose size exceeds all bounds.
    for (const double size : {0.4, 0.0, 1e150}) {
      const Eigen::VectorXd x = random_state(*system, size, 5);
      Eigen::VectorXd moved = Eigen::VectorXd::Constant(x.size(), NAN);
      std::vector<double> events(system->shape().events.size(), NAN);
      const double bound = system->euler_step({view(x), {}}, 0, 0.3, view(moved), events);
      const double largest = moved.cwiseAbs().maxCoeff();
      if (size > 1) {
        CHECK_FALSE(bound <= 1e100);
        continue;
      }
      CHECK(difference(moved, x + 0.3 * rhs(*system, x)) < 1e-13);
      std::vector<double> expected(events.size());
      system->event_functions({view(moved), {}}, 0.3, expected);
      CHECK(events.size() >= 2);
      for (std::size_t i = 0; i < events.size(); ++i)
        CHECK(std::abs(events[i] - expected[i]) < 1e-13);
      CHECK(bound >= largest);
      CHECK(bound < 1000 * (1 + largest));
      // In a step of length 0 from V = 0 only the attention contributes to the bound.
      Eigen::VectorXd attention = x;
      attention.head(25).setZero();
      const double of_attention = system->euler_step({view(attention), {}}, 0, 0, view(moved), {});
      CHECK(moved == attention);
      CHECK(of_attention >= attention.cwiseAbs().maxCoeff());
    }
  }
}

TEST_CASE("A step with isotropic noise adds the documented normals, projected",
          "[fast][scb][noise]") {
  const Problem problem = uneven_problem(5, 3003, 3, 4);
  for (const Variant& variant : all_variants()) {
    INFO(describe(variant));
    const auto system =
        make_scb(problem, variant, Coordinates::full, start_value(problem, From::stationary));
    Workers workers(3);
    SdeDriver driver(*system, workers,
                     {.learning_rate = 0.4,
                      .batch_size = 9,
                      .dt = 0.5,
                      .noise = "isotropic",
                      .noise_scale = 1e-3,
                      .seed = 12,
                      .run = 3});
    Eigen::VectorXd x = start_of(*system);
    std::vector<double> noise(static_cast<std::size_t>(x.size()));
    for (std::uint64_t step = 0; step < 3; ++step) {
      REQUIRE(driver.advance(0.25 * static_cast<double>(step + 1)).kind == Outcome::Kind::reached);
      NormalPart(12, 3, 2 * step).write(0, noise);
      if (const auto projection = system->capabilities().noise_projection)
        projection->project_noise(view(x), noise);
      const double factor = 1e-3 * std::sqrt(0.25) * std::sqrt(0.4 / 9);
      x += 0.25 * rhs(*system, x) +
           factor * Eigen::Map<const Eigen::VectorXd>(noise.data(), x.size());
      CHECK(difference(Eigen::Map<const Eigen::VectorXd>(driver.state().data(), x.size()), x) <
            1e-13);
    }
  }
}

}  // namespace
}  // namespace popflow::scb::test
