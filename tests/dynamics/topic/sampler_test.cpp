#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/monte_carlo.hpp"
#include "support/slopes.hpp"
#include "support/topic_fixture.hpp"

// Sampled documents and their gradients, compared with the loss of each document written out
// position by position, with samples drawn without shortcuts, and with the flow, from which finite
// documents differ.

using namespace popflow;
using namespace popflow::topic;
using namespace popflow::topic::test;
using popflow::test::gradient;
using popflow::test::log_log_slope;
using popflow::test::SampleMean;

namespace {

constexpr double kL2 = 0.03;

Eigen::VectorXd vector_of(const std::vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
}

SampleKey key_at(std::uint64_t first) { return {7, Purpose::test, 0, first}; }

Eigen::VectorXd sampled(const FullTopic& system, const std::vector<double>& x, std::uint64_t first,
                        const std::vector<double>& weights) {
  std::vector<double> out(x.size(), 0.0);
  system.add_sampled(x, 0, key_at(first), weights, out);
  return vector_of(out);
}

std::vector<Position> document(const FullTopic& system, std::uint64_t i) {
  RandomStream random = key_at(i).stream(0);
  std::vector<std::uint32_t> room;
  std::vector<Position> positions;
  system.sampler().generator().draw(random, room,
                                    [&](const Position& p) { positions.push_back(p); });
  return positions;
}

/// Returns the loss of a document of the sampled model by its definition, and the gradient by W_V
/// (E) and Lambda. Attention uses the frequencies `input`: the document's own or others.
LossGradient document_loss(const FullTopic& system, const Matrices& at,
                           const std::vector<Position>& positions, const Eigen::VectorXd& input) {
  const Eigen::Index size = at.value.rows();
  LossGradient sum{0, {Eigen::MatrixXd::Zero(size, size), Eigen::MatrixXd::Zero(size, size)}};
  const auto selected = static_cast<double>(std::count_if(
      positions.begin(), positions.end(), [](const Position& p) { return p.selected; }));
  const Scored scored = system.variant().train == Train::embedding ? Scored::words : Scored::all;
  for (const Position& p : positions) {
    if (!p.selected) continue;
    const LossGradient one = position_loss(at, input, p.shown, p.word, scored);
    sum.loss += one.loss / selected;
    sum.by.value += one.by.value / selected;
    sum.by.logit += one.by.logit / selected;
  }
  return sum;
}

Eigen::VectorXd frequencies(const std::vector<Position>& positions, Eigen::Index size) {
  Eigen::VectorXd input = Eigen::VectorXd::Zero(size);
  for (const Position& p : positions) input[p.shown] += 1 / static_cast<double>(positions.size());
  return input;
}

}  // namespace

TEST_CASE("topic: a sample is minus the gradient of its own document's loss",
          "[fast][topic][noise]") {
  const std::vector<Data> all = small_data();
  for (const Data& data : {all[1], all[2], all[3], all[6], all[8], all[10]}) {
    for (const Variant& variant : all_variants(kL2)) {
      const auto system = make_full_random(data, variant, 0.7, 4, 17);
      const std::vector<double> x = start_of(*system);
      for (const std::uint64_t i : {0, 1, 2}) {
        INFO(describe(data) << ", " << describe(variant) << ", document " << i);
        const std::vector<Position> positions = document(*system, i);
        REQUIRE(positions.size() == 17);
        const auto loss = [&](const Eigen::VectorXd& state) {
          const Matrices at = full(*system, {state.begin(), state.end()});
          return document_loss(*system, at, positions, frequencies(positions, at.value.rows()))
                     .loss +
                 kL2 * at.value.squaredNorm();
        };
        Eigen::VectorXd by = gradient(loss, vector_of(x), 1e-3);
        if (variant.train == Train::attention)
          by.head(static_cast<Eigen::Index>(system->shape().blocks[0].size)).setZero();
        const Eigen::VectorXd sample = sampled(*system, x, i, {1.0});
        CHECK((sample + by).cwiseAbs().maxCoeff() < 1e-8);
        // Compare to rounding with the reference's derivatives.
        const Matrices at = full(*system, x);
        Matrices exact =
            document_loss(*system, at, positions, frequencies(positions, at.value.rows())).by;
        exact.value += 2 * kL2 * at.value;
        const Eigen::VectorXd expected = vector_of(by_state(*system, x, exact));
        CHECK((sample + expected).cwiseAbs().maxCoeff() <
              1e-13 * (1 + expected.cwiseAbs().maxCoeff()));
      }
    }
  }
}

TEST_CASE("topic: documents have the generator's frequencies", "[fast][topic][noise]") {
  // 4000 documents of 30 words. The means of 9 numbers for 11 kinds of data have |z| <= 5: one
  // false alarm in 2e4 seeds.
  for (const Data& data : small_data()) {
    INFO(describe(data));
    const auto system = make_full_random(data, {Train::value, true, 0}, 0.1, 1, 30);
    const auto T = static_cast<std::size_t>(data.topics);
    SampleMean mean(9);
    constexpr int documents = 4000;
    for (std::uint64_t i = 0; i < documents; ++i) {
      std::vector<bool> topics(T, false);
      Eigen::VectorXd seen = Eigen::VectorXd::Zero(9);
      const auto v = static_cast<std::uint32_t>(data.words_per_topic);
      for (const Position& p : document(*system, i)) {
        REQUIRE(p.word >= 1);
        REQUIRE(p.word <= T * v);
        REQUIRE((p.selected || p.shown == p.word));
        topics[(p.word - 1) / v] = true;
        const bool same = p.shown == p.word;
        seen[0] += p.selected;
        seen[1] += p.shown == 0;
        seen[2] += p.selected && same;
        seen[3] += p.selected && !same && p.shown != 0;
        seen[4] += p.word == 1;
        seen[5] += p.shown == 1;
        seen[6] += p.word == T * v;
        seen[7] += p.shown == T * v;
      }
      seen /= 30;
      REQUIRE(std::count(topics.begin(), topics.end(), true) <= data.topics_per_document);
      seen[8] = topics[0];
      mean.add(seen);
    }
    const double n = data.n(), p = data.mask_prob;
    const double random = data.random_prob;
    // The words of a document may all miss one of its topics.
    const double shows = data.tau() / data.T() * (1 - std::pow(1 - 1 / data.tau(), 30));
    Eigen::VectorXd expected(9);
    expected << p, data.z_mask(), p * (data.keep_prob + random / n), p * random * (1 - 1 / n),
        1 / n, (1 - data.z_mask()) / n, 1 / n, (1 - data.z_mask()) / n, shows;
    for (Eigen::Index i = 0; i < 9; ++i) {
      INFO("number " << i << ": " << mean.mean()[i] << " for " << expected[i]);
      // Frequencies near 0 or 1 have no usable estimate of their standard error.
      const double error =
          i < 8 ? mean.standard_error()[i] : std::sqrt(shows * (1 - shows) / documents);
      CHECK(std::abs(mean.mean()[i] - expected[i]) <= 5 * error + 1e-12);
    }
  }
}

TEST_CASE("topic: a weighted sum of samples is the sum of the samples", "[fast][topic][noise]") {
  const Data data = small_data()[1];
  for (const Variant& variant : all_variants(kL2)) {
    INFO(describe(variant));
    const auto system = make_full_random(data, variant, 0.7, 4);
    const std::vector<double> x = start_of(*system);
    // More samples than are computed at a time.
    std::vector<double> weights(150);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::cos(static_cast<double>(i)) / 10;
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(x.size()));
    for (std::size_t i = 0; i < weights.size(); ++i)
      sum += weights[i] * sampled(*system, x, 50 + i, {1.0});
    CHECK((sampled(*system, x, 50, weights) - sum).cwiseAbs().maxCoeff() < 1e-13);
    // SGD adds samples to the state itself.
    std::vector<double> moved = x;
    system->add_sampled(moved, 0, key_at(50), weights, moved);
    CHECK((vector_of(moved) - vector_of(x) - sum).cwiseAbs().maxCoeff() < 1e-13);
  }
}

TEST_CASE("topic: cached documents belong to the requested key", "[fast][topic][noise]") {
  const Data data{4, 3, 2, 0.3, 0.2, 0.3};
  const std::vector<double> weights = {0.5, -1, 0, 2};
  const SampleKey key = key_at(7);
  SampleKey other_seed = key, other_run = key, other_purpose = key, later = key;
  other_seed.seed += 1;
  other_run.run += 1;
  other_purpose.purpose = Purpose::noise;
  later.first += 1;
  for (const Variant& variant : all_variants(kL2)) {
    INFO(describe(variant));
    const auto used = make_full_random(data, variant, 0.7, 4);
    const std::vector<double> x = start_of(*used);
    for (const SampleKey& next : {key, other_seed, other_run, other_purpose, later, key, key}) {
      const auto fresh = make_full_random(data, variant, 0.7, 4);
      std::vector<double> a(x.size(), 0.0), b = a;
      used->add_sampled(x, 0, next, weights, a);
      fresh->add_sampled(x, 0, next, weights, b);
      CHECK(a == b);
    }
  }
}

TEST_CASE("topic: samples are bit-for-bit identical on any number of threads",
          "[fast][topic][noise]") {
  const Data data{6, 4, 3, 0.3, 0.2, 0.3};
  for (const Variant& variant : all_variants(kL2)) {
    INFO(describe(variant));
    const std::vector<double> weights(200, 0.01);
    const auto one = make_full_random(data, variant, 0.5, 9, 100, 1);
    const auto three = make_full_random(data, variant, 0.5, 9, 100, 3);
    const std::vector<double> x = start_of(*one);
    const Eigen::VectorXd a = sampled(*one, x, 3, weights), b = sampled(*three, x, 3, weights);
    CHECK(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) ==
          0);
  }
}

TEST_CASE("topic: under uniform attention the bias of finite documents agrees with its formula",
          "[fast][topic][noise]") {
  // Documents of 20 words, which have no selected position with probability 1e-8. 2000 batches of
  // 20; each of the 325 numbers lies within 5.5 standard errors: one false alarm in 8e4 seeds.
  const Data data{4, 3, 2, 0.6, 0.3, 0.4};
  constexpr int length = 20;
  // Bias of E[z z'] and E[x z'], from all documents.
  Eigen::MatrixXd of_zz = Eigen::MatrixXd::Zero(13, 13), of_xz = of_zz;
  for (Eigen::Index one = 0; one < 4; ++one) {
    for (Eigen::Index two = 0; two < one; ++two) {
      Eigen::VectorXd z(13), u = Eigen::VectorXd::Zero(13);
      z[0] = data.z_mask();
      for (Eigen::Index k = 0; k < 12; ++k) {
        const bool inside = k / 3 == one || k / 3 == two;
        z[1 + k] = inside ? data.z_inside() : data.z_outside();
        u[1 + k] = inside ? 1.0 / 6 : 0;
      }
      of_zz += (Eigen::MatrixXd(z.asDiagonal()) - z * z.transpose()) / (6 * length);
      of_xz +=
          data.keep_prob * (Eigen::MatrixXd(u.asDiagonal()) - u * u.transpose()) / (6 * length);
    }
  }
  for (const Train train : {Train::value, Train::embedding}) {
    const Variant variant{train, true, kL2};
    INFO(describe(variant));
    const auto system = make_full_random(data, variant, 0.7, 4, length);
    const std::vector<double> x = start_of(*system);
    Matrices by = full(*system, x);
    by.value = 2 * by.value * of_zz - 2 * of_xz;
    by.value.row(0).setZero();
    const Eigen::VectorXd flow = vector_of(rhs_of(*system, x));
    const Eigen::VectorXd expected = flow - vector_of(by_state(*system, x, by));
    SampleMean mean(expected.size());
    for (std::uint64_t batch = 0; batch < 2000; ++batch)
      mean.add(sampled(*system, x, 20 * batch, std::vector<double>(20, 0.05)));
    CHECK(mean.worst_z(expected) < 5.5);
    // The check has power: without the bias it fails.
    CHECK(mean.worst_z(flow) > 10);
  }
}

TEST_CASE("topic: the mean of samples is the flow, up to a bias of order 1/length",
          "[slow][topic][noise]") {
  // With infinitely long documents the mean over the same selected positions is the flow. So the
  // difference is the bias, with little noise. Most positions are selected: a document has no
  // selected position with probability at most 1e-32.
  const Data data{3, 2, 2, 0.9, 0.4, 0.3};
  for (const Variant& variant : {Variant{Train::joint, false, 0}, Variant{Train::joint, true, 0}}) {
    INFO(describe(variant));
    std::vector<double> x = start_of(*make_full_random(data, variant, 0.8, 2));
    // Outputs are so large that the bias exceeds the noise.
    for (std::size_t i = 0; i < 6 * 7; ++i) x[i] *= 2;
    const auto sample_and_endless = [&](const FullTopic& system, std::uint64_t i) {
      const std::vector<Position> positions = document(system, i);
      Eigen::VectorXd limit = Eigen::VectorXd::Constant(7, data.z_outside());
      limit[0] = data.z_mask();
      for (const Position& p : positions)
        limit.segment<2>(1 + static_cast<Eigen::Index>((p.word - 1) / 2) * 2)
            .setConstant(data.z_inside());
      const Matrices by = document_loss(system, full(system, x), positions, limit).by;
      return std::pair{sampled(system, x, i, {1.0}),
                       Eigen::VectorXd(-vector_of(by_state(system, x, by)))};
    };
    // Direction of the bias, estimated from other documents.
    const auto shortest = make_full(data, variant, {{}, x}, 32);
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(x.size()));
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const auto [sample, endless] = sample_and_endless(*shortest, 1'000'000 + i);
      direction += sample - endless;
    }
    direction.normalize();
    const Eigen::VectorXd flow = vector_of(rhs_of(*shortest, x));
    std::vector<double> lengths, biases;
    for (const int length : {32, 64, 128}) {
      const auto system = make_full(data, variant, {{}, x}, length);
      SampleMean difference(1), infinite(flow.size());
      for (std::uint64_t i = 0; i < 640'000 / static_cast<std::uint64_t>(length); ++i) {
        const auto [sample, endless] = sample_and_endless(*system, i);
        difference.add(Eigen::VectorXd::Constant(1, (sample - endless).dot(direction)));
        infinite.add(endless);
      }
      lengths.push_back(length);
      biases.push_back(std::abs(difference.mean()[0]));
      INFO("length " << length << ": " << difference.mean()[0] << " +- "
                     << difference.standard_error()[0] << ", flow " << flow.norm());
      CHECK(difference.standard_error()[0] < 0.05 * biases.back());
      // There are at most 147 numbers, and some are always 0.
      const Eigen::VectorXd error = infinite.standard_error().array() + 1e-14;
      CHECK((infinite.mean() - flow).cwiseAbs().cwiseQuotient(error).maxCoeff() < 5.5);
    }
    INFO("biases " << biases[0] << ", " << biases[1] << ", " << biases[2]);
    CHECK(log_log_slope(lengths, biases) == Approx(-1).margin(0.12));
  }
}

TEST_CASE("topic: samples have the covariance of the model", "[slow][topic][noise]") {
  // Second moments along ten random directions, from 20 000 documents of each sampler. The
  // reference draws and differentiates position by position. The moments agree within 5 standard
  // errors of their difference: one false alarm in 9e4 seeds.
  const Data data{3, 2, 2, 0.5, 0.3, 0.3};
  constexpr int length = 25;
  const auto system = make_full_random(data, {Train::joint, false, 0}, 0.8, 2, length);
  const std::vector<double> x = start_of(*system);
  const Matrices at = full(*system, x);
  RandomStream random(8, Purpose::test);
  Eigen::MatrixXd directions(static_cast<Eigen::Index>(x.size()), 10);
  for (double& number : directions.reshaped()) number = random.normal();
  SampleMean ours(10), theirs(10);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ours.add((directions.transpose() * sampled(*system, x, i, {1.0})).array().square().matrix());
    const Matrices by = topic::test::sampled(data, at, length, random).sampled.by;
    theirs.add(
        (directions.transpose() * vector_of(by_state(*system, x, by))).array().square().matrix());
  }
  const Eigen::VectorXd error =
      (ours.standard_error().array().square() + theirs.standard_error().array().square()).sqrt();
  CHECK((ours.mean() - theirs.mean()).cwiseAbs().cwiseQuotient(error).maxCoeff() < 5);
}

TEST_CASE("topic: a document without selected positions has only the penalty's gradient",
          "[fast][topic][noise]") {
  const Data data{4, 3, 2, 0.15, 0.1, 0.1};
  const auto system = make_full_random(data, {Train::joint, false, kL2}, 0.7, 4, 2);
  const std::vector<double> x = start_of(*system);
  int none = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::vector<Position> positions = document(*system, i);
    if (positions[0].selected || positions[1].selected) continue;
    ++none;
    Eigen::VectorXd expected = -2 * kL2 * vector_of(x);
    expected.tail(13 * 13).setZero();
    CHECK((sampled(*system, x, i, {1.0}) - expected).cwiseAbs().maxCoeff() < 1e-15);
  }
  CHECK(none > 20);
}

TEST_CASE("topic: every single sample lies in the space on which noise is projected",
          "[fast][topic][noise]") {
  for (const Data& data : small_data()) {
    for (const Variant& variant : all_variants(0)) {
      INFO(describe(data) << ", " << describe(variant));
      const auto system = make_full_random(data, variant, 0.7, 4);
      const std::vector<double> x = start_of(*system);
      for (std::uint64_t i = 0; i < 20; ++i) {
        const Eigen::VectorXd v = sampled(*system, x, i, {1.0});
        std::vector<double> projected(v.begin(), v.end());
        system->project_noise(x, projected);
        CHECK((vector_of(projected) - v).cwiseAbs().maxCoeff() < 1e-14 * (1 + v.norm()));
      }
      // The space is no larger than needed: projected noise moves the same entries as samples do.
      RandomStream random(3, Purpose::test);
      std::vector<double> noise(x.size());
      for (double& number : noise) number = random.normal();
      system->project_noise(x, noise);
      if (variant.attends() && !variant.factored) {
        // The softmax's derivative sums to 0 over the keys.
        const auto symbols = static_cast<Eigen::Index>(data.topics * data.words_per_topic + 1);
        const Eigen::VectorXd all = vector_of(noise);
        const Eigen::VectorXd logit = all.tail(symbols * symbols);
        CHECK(logit.reshaped(symbols, symbols).colwise().sum().cwiseAbs().maxCoeff() < 1e-13);
      }
      if (variant.attends() && variant.factored) {
        // Initially W_K = 1, so these sums times W_Q, which are conserved, vanish.
        const auto symbols = static_cast<Eigen::Index>(data.topics * data.words_per_topic + 1);
        const Eigen::VectorXd all = vector_of(noise);
        const Eigen::VectorXd keys =
            all.segment(all.size() - 2 * symbols * symbols, symbols * symbols);
        CHECK(keys.reshaped(symbols, symbols).rowwise().sum().cwiseAbs().maxCoeff() < 1e-13);
      }
      std::vector<double> twice = noise;
      system->project_noise(x, twice);
      CHECK((vector_of(twice) - vector_of(noise)).cwiseAbs().maxCoeff() < 1e-14);
      const auto longer = make_full_random(data, variant, 0.7, 4, 400);
      const Eigen::VectorXd moved = sampled(*longer, x, 0, std::vector<double>(400, 1.0));
      std::size_t wrong = 0;
      for (std::size_t j = 0; j < x.size(); ++j)
        if ((moved[static_cast<Eigen::Index>(j)] != 0) != (noise[j] != 0)) ++wrong;
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("topic: SGD with documents resumes bit for bit", "[fast][topic][noise]") {
  const Data data = small_data()[1];
  for (const Variant& variant : all_variants(1e-3)) {
    INFO(describe(variant));
    const auto system = make_full_random(data, variant, 0.3, 4);
    const SgdDriver::Options options{.learning_rate = 0.5, .batch_size = 8};
    Workers workers(1);
    SgdDriver whole(*system, workers, options), begun(*system, workers, options);
    REQUIRE(whole.advance(20).kind == Outcome::Kind::reached);
    REQUIRE(begun.advance(7.5).kind == Outcome::Kind::reached);
    const ResumePoint point = begun.resume_point();
    SgdDriver resumed(*system, workers, options);
    resumed.restore(*point.x, *point.regime, point.t, point.data);
    REQUIRE(resumed.advance(20).kind == Outcome::Kind::reached);
    const std::size_t bytes = whole.state().size() * sizeof(double);
    CHECK(std::memcmp(whole.state().data(), resumed.state().data(), bytes) == 0);
  }
}
