#include <cmath>
#include <cstring>

#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "support/catch.hpp"
#include "support/finite_differences.hpp"
#include "support/topic_fixture.hpp"

// The flow of full matrices at any state, compared with the mean over all documents by definition,
// with finite differences, and with the symmetric flow.

using namespace popflow;
using namespace popflow::topic;
using namespace popflow::topic::test;
using popflow::test::gradient;

namespace {

constexpr double kL2 = 0.03;

Eigen::VectorXd vector_of(const std::vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  return (vector_of(a) - vector_of(b)).cwiseAbs().maxCoeff();
}

Scored scored(const Variant& variant) {
  return variant.train == Train::embedding ? Scored::words : Scored::all;
}

std::vector<double> after(const System& system, double t, double rtol) {
  Workers workers(1);
  FlowDriver driver(system, workers, {.rtol = rtol, .atol = 1e-2 * rtol});
  REQUIRE(driver.advance(t).kind == Outcome::Kind::reached);
  return {driver.state().begin(), driver.state().end()};
}

}  // namespace

TEST_CASE("topic: the full flow is minus the gradient's mean over all documents, at any state",
          "[fast][topic][full]") {
  for (const Data& data : small_data()) {
    for (const Variant& variant : all_variants(kL2)) {
      for (const std::uint64_t seed : {1, 2}) {
        INFO(describe(data) << ", " << describe(variant) << ", seed " << seed);
        const auto system = make_full_random(data, variant, 0.7, seed);
        const std::vector<double> x = start_of(*system);
        const Matrices at = full(*system, x);
        const LossGradient g = enumerated(data, at, scored(variant));
        Matrices by = g.by;
        by.value += 2 * kL2 * at.value;
        std::vector<double> expected = by_state(*system, x, by);
        for (double& number : expected) number = -number;
        const double size = 1 + vector_of(expected).cwiseAbs().maxCoeff();
        CHECK(difference(rhs_of(*system, x), expected) < 2e-14 * size);
        const auto seen = observe(*system, x);
        CHECK(seen.at("loss") == Approx(g.loss + kL2 * at.value.squaredNorm()).epsilon(1e-13));
        CHECK(seen.at("norm_value") == Approx(at.value.norm()).epsilon(1e-13));
        CHECK(seen.at("norm_logit") == Approx(at.logit.norm()).epsilon(1e-13).margin(1e-14));
      }
    }
  }
}

TEST_CASE("topic: the full flow is right with more queries than one block holds",
          "[fast][numbers][topic][full]") {
  const Data data{3, 43, 2, 0.3, 0.2, 0.3};
  const auto system = make_full_random(data, {Train::joint, false, 0}, 0.7, 3);
  const std::vector<double> x = start_of(*system);
  std::vector<double> expected =
      by_state(*system, x, enumerated(data, full(*system, x), Scored::all).by);
  for (double& number : expected) number = -number;
  CHECK(difference(rhs_of(*system, x), expected) <
        1e-13 * vector_of(expected).cwiseAbs().maxCoeff());
}

TEST_CASE("topic: the full flow is minus the gradient of the loss, by finite differences",
          "[fast][topic][full]") {
  const std::vector<Data> all = small_data();
  for (const Data& data : {all[1], all[2], all[6], all[8]}) {
    for (const Variant& variant : all_variants(kL2)) {
      INFO(describe(data) << ", " << describe(variant));
      const auto system = make_full_random(data, variant, 0.7, 4);
      const std::vector<double> x = start_of(*system);
      const auto loss = [&](const Eigen::VectorXd& at) {
        return observe(*system, {at.begin(), at.end()}).at("loss");
      };
      Eigen::VectorXd by = gradient(loss, vector_of(x), 1e-3);
      const auto words = static_cast<Eigen::Index>(system->shape().blocks[0].size);
      if (variant.train == Train::attention) by.head(words).setZero();
      CHECK((vector_of(rhs_of(*system, x)) + by).cwiseAbs().maxCoeff() < 1e-9);
    }
  }
}

TEST_CASE("topic: at symmetric states the full flow equals the symmetric flow, entry by entry",
          "[fast][topic][full]") {
  for (const Data& data : small_data()) {
    for (const Variant& variant : all_variants(kL2)) {
      INFO(describe(data) << ", " << describe(variant));
      const auto reduced = make_random(data, variant, 0.7, 3);
      std::vector<double> fields = start_of(*reduced);
      const std::vector<double> flow = rhs_of(*reduced, fields);
      to_fields(variant, fields);
      const auto system = make_full(data, variant, full_start(data, variant, fields));
      const std::vector<double> x = start_of(*system);
      std::vector<double> moved = flow;
      to_fields(variant, moved);
      // The map from numbers to matrices is linear, so it also maps velocities.
      const std::vector<double> expected = full_start(data, variant, moved).state;
      const double size = 1 + vector_of(expected).cwiseAbs().maxCoeff();
      CHECK(difference(rhs_of(*system, x), expected) < 2e-14 * size);

      const auto seen = observe(*system, x), same = observe(*reduced, start_of(*reduced));
      for (const auto& [name, value] : same) {
        INFO(name);
        if (std::isnan(value))
          CHECK(std::isnan(seen.at(name)));
        else
          CHECK(seen.at(name) == Approx(value).epsilon(1e-12).margin(1e-14));
      }
      // Class means equal the reduced state's numbers where the class has entries.
      for (const std::string& name : system->shape().fields) {
        if (name.rfind("value_", 0) != 0 && name.rfind("logit_", 0) != 0) continue;
        if (data.words_per_topic == 1 && name.ends_with("same_topic")) continue;
        if (data.topics == 1 && name.ends_with("other_topic")) continue;
        INFO(name);
        CHECK(field_of(*system, name, x)[0] ==
              Approx(field_of(*reduced, name, start_of(*reduced))[0]).epsilon(1e-12).margin(1e-13));
      }
      CHECK(system->default_end() == reduced->default_end());
    }
  }
}

TEST_CASE("topic: from a symmetric start full and symmetric flow agree", "[fast][topic][full]") {
  const Data data{4, 3, 2, 0.3, 0.2, 0.3};
  for (const Variant& variant : all_variants(1e-3)) {
    INFO(describe(variant));
    const auto reduced = make_random(data, variant, 0.4, 3);
    std::vector<double> fields = start_of(*reduced);
    to_fields(variant, fields);
    const auto system = make_full(data, variant, full_start(data, variant, fields));
    const double t = 200;
    std::vector<double> there = after(*reduced, t, 1e-11);
    const std::vector<double> x = after(*system, t, 1e-11);
    const std::vector<double> reduced_end = there;
    to_fields(variant, there);
    CHECK(difference(x, full_start(data, variant, there).state) < 1e-8);
    CHECK(difference(x, start_of(*system)) > 0.1);
    for (const std::string& name : system->shape().fields)
      if (name.rfind("value_", 0) == 0 || name.rfind("logit_", 0) == 0)
        CHECK(field_of(*system, name, x)[0] ==
              Approx(field_of(*reduced, name, reduced_end)[0]).margin(1e-8));
  }
}

TEST_CASE("topic: class means are the means over each kind of entry", "[fast][topic][full]") {
  for (const Data& data : small_data()) {
    for (const Variant& variant : all_variants(0)) {
      INFO(describe(data) << ", " << describe(variant));
      const auto system = make_full_random(data, variant, 0.7, 5);
      const std::vector<double> x = start_of(*system);
      const Matrices at = full(*system, x);
      const auto means = [&](const Eigen::MatrixXd& m) {
        std::vector<double> sum(6, 0.0), count(6, 0.0);
        for (Eigen::Index i = 0; i < m.rows(); ++i) {
          for (Eigen::Index j = 0; j < m.cols(); ++j) {
            const bool topic = (i - 1) / data.words_per_topic == (j - 1) / data.words_per_topic;
            const std::size_t kind = i == 0 && j == 0 ? 5
                                     : i == 0         ? 3
                                     : j == 0         ? 4
                                     : i == j         ? 0
                                     : topic          ? 1
                                                      : 2;
            sum[kind] += m(i, j);
            count[kind] += 1;
          }
        }
        for (std::size_t k = 0; k < 6; ++k) sum[k] = count[k] > 0 ? sum[k] / count[k] : 0;
        return sum;
      };
      const auto check = [&](const char* name, double expected) {
        INFO(name);
        CHECK(field_of(*system, name, x).at(0) == Approx(expected).epsilon(1e-12).margin(1e-13));
      };
      const std::vector<double> value = means(at.value), logit = means(at.logit);
      check("value_same_word", value[0]);
      check("value_same_topic", value[1]);
      check("value_other_topic", value[2]);
      check("value_mask", value[4]);
      if (!variant.attends()) continue;
      check("logit_same_word", logit[0]);
      check("logit_same_topic", logit[1]);
      check("logit_other_topic", logit[2]);
      check("logit_mask_key", logit[3]);
      check("logit_word_key", logit[4]);
      check("logit_mask_mask", logit[5]);
    }
  }
}

TEST_CASE("topic: attention in full matrices is the mean over documents and their queries",
          "[fast][topic][full]") {
  const Data data{4, 3, 2, 0.3, 0.2, 0.3};
  const auto system = make_full_random(data, {Train::joint, false, 0}, 0.8, 6);
  const Eigen::MatrixXd logit = full(*system, start_of(*system)).logit;
  double same = 0, topic = 0, other = 0, queries = 0;
  for (Eigen::Index one = 0; one < 4; ++one) {
    for (Eigen::Index two = 0; two < one; ++two) {
      Eigen::VectorXd z(13);
      z[0] = data.z_mask();
      for (Eigen::Index k = 0; k < 12; ++k)
        z[1 + k] = k / 3 == one || k / 3 == two ? data.z_inside() : data.z_outside();
      for (Eigen::Index q = 0; q < 12; ++q) {
        if (q / 3 != one && q / 3 != two) continue;
        const Eigen::VectorXd weight = logit.col(1 + q).array().exp();
        const Eigen::VectorXd relative = weight / z.dot(weight);
        queries += 1;
        for (Eigen::Index k = 0; k < 12; ++k)
          (k == q ? same : k / 3 == q / 3 ? topic : other) += relative[1 + k];
      }
    }
  }
  const auto seen = observe(*system, start_of(*system));
  CHECK(seen.at("attention_same_word") == Approx(same / queries).epsilon(1e-12));
  CHECK(seen.at("attention_same_topic") == Approx(topic / queries / 2).epsilon(1e-12));
  CHECK(seen.at("attention_other_topic") == Approx(other / queries / 9).epsilon(1e-12));
}

TEST_CASE("topic: value training of full matrices has a closed form from any start",
          "[fast][topic][full]") {
  for (const Data& data : small_data()) {
    for (const double l2 : {0.0, 1e-2}) {
      INFO(describe(data) << ", l2 " << l2);
      const auto system = make_full_random(data, {Train::value, true, l2}, 0.5, 7);
      const std::vector<double> x = start_of(*system);
      std::vector<double> exact(x.size());
      for (const double t : {0.3, 5.0}) {
        system->closed_form(t, exact);
        CHECK(difference(after(*system, t, 1e-11), exact) < 1e-9);
      }
      // At a large time the flow is at rest, stage 1 is over, and the excess loss is the loss minus
      // the optimum's.
      std::vector<double> end(x.size()), function(1);
      system->closed_form(1e9, end);
      CHECK(vector_of(rhs_of(*system, end)).cwiseAbs().maxCoeff() < 1e-13);
      system->event_functions(end, 0, function);
      CHECK(function[0] == Approx(0.01 * vector_of(end).norm()).epsilon(1e-10));
      const auto here = observe(*system, x), there = observe(*system, end);
      CHECK(there.at("excess_loss") < 1e-25);
      CHECK(here.at("excess_loss") ==
            Approx(here.at("loss") - there.at("loss")).epsilon(1e-11).margin(1e-13));
    }
  }
}

TEST_CASE("topic: full matrices and the symmetric flow have the same events",
          "[fast][topic][full]") {
  const Data data{4, 3, 2, 0.3, 0.2, 0.3};
  for (const Variant& variant : all_variants(1e-3)) {
    INFO(describe(variant));
    const auto reduced = make_random(data, variant, 0.4, 3);
    std::vector<double> fields = start_of(*reduced);
    to_fields(variant, fields);
    const auto system = make_full(data, variant, full_start(data, variant, fields));
    REQUIRE(system->shape().events == reduced->shape().events);
    std::vector<double> ours(system->shape().events.size()), theirs(ours.size());
    system->event_functions(start_of(*system), 0, ours);
    reduced->event_functions(start_of(*reduced), 0, theirs);
    for (std::size_t i = 0; i < ours.size(); ++i)
      CHECK(ours[i] == Approx(theirs[i]).epsilon(1e-12).margin(1e-13));
  }
}

TEST_CASE("topic: logits far apart do not overflow", "[fast][topic][full]") {
  const Data data{4, 3, 2, 0.3, 0.2, 0.3};
  const auto system = make_full_random(data, {Train::joint, false, 0}, 90, 8);
  const std::vector<double> x = start_of(*system);
  const Matrices at = full(*system, x);
  const LossGradient g = enumerated(data, at);
  CHECK(observe(*system, x).at("loss") == Approx(g.loss).epsilon(1e-12));
  std::vector<double> expected = by_state(*system, x, g.by);
  for (double& number : expected) number = -number;
  CHECK(difference(rhs_of(*system, x), expected) <
        1e-12 * vector_of(expected).cwiseAbs().maxCoeff());
}

TEST_CASE("topic: the full flow is bit-for-bit identical on any number of threads",
          "[fast][topic][full]") {
  const Data data{8, 5, 3, 0.3, 0.2, 0.3};
  for (const Variant& variant : all_variants(kL2)) {
    INFO(describe(variant));
    const auto one = make_full_random(data, variant, 0.5, 9, 40, 1);
    const auto four = make_full_random(data, variant, 0.5, 9, 40, 4);
    const std::vector<double> x = start_of(*one);
    const std::vector<double> a = rhs_of(*one, x), b = rhs_of(*four, x);
    CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
    CHECK(observe(*one, x).at("loss") == observe(*four, x).at("loss"));
  }
}

TEST_CASE("topic: too many sets of topics to enumerate are refused", "[fast][topic][full]") {
  const Data data{20, 1, 10, 0.3, 0.2, 0.3};
  CHECK_THROWS_WITH(
      make_full_random(data, {Train::joint, true, 0}, 0.1, 1),
      Catch::Contains("--topics 20") && Catch::Contains("184756") && Catch::Contains("100000"));
  CHECK_NOTHROW(make_full_random(data, {Train::value, true, 0}, 0.1, 1));
  CHECK_NOTHROW(make_full_random(data, {Train::embedding, true, 0}, 0.1, 1));
}
