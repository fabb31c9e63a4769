#include <cmath>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "support/make_system.hpp"
#include "support/topic_fixture.hpp"

// Starts by the options of logits, and the landscape of the loss over logits.

using namespace popflow;
using namespace popflow::topic;
using namespace popflow::topic::test;
using Catch::Contains;

namespace {

using Words = std::vector<std::string>;

const Words kDirect = {"--parameterization", "direct", "--train", "attention"};

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Made make_run(const Words& words) {
  static Workers workers(1);
  return popflow::test::make_system(
      popflow::test::parse(
          "topic",
          joined({"--topics", "4", "--words-per-topic", "3", "--topics-per-document", "2"}, words)),
      workers);
}

/// Returns the loss at the start.
double loss_of(const Words& words) {
  const Made made = make_run(words);
  return observe(*made.system, start_of(*made.system)).at("loss");
}

/// Returns logits at which a word of the query's topic has `alpha` times the weight of a word of
/// another topic. The queried word itself has `beta` times that weight.
Words weights(double alpha, double beta) {
  return joined(kDirect, {"--init-logit-same-topic", shortest(std::log(alpha)),
                          "--init-logit-same-word", shortest(std::log(beta))});
}

}  // namespace

TEST_CASE("topic: direct logits start at the values of their options", "[fast][topic]") {
  const char* names[] = {"same-word", "same-topic", "other-topic",
                         "mask-key",  "word-key",   "mask-mask"};
  for (const std::string train : {"attention", "joint"}) {
    for (std::size_t i = 0; i < logit_entries; ++i) {
      INFO(train << " " << names[i]);
      const Made made = make_run({"--parameterization", "direct", "--train", train,
                                  std::string("--init-logit-") + names[i], "-1.25"});
      const auto& system = dynamic_cast<const Topic&>(*made.system);
      const Logits<double> logits = system.logits(start_of(system));
      for (std::size_t j = 0; j < logit_entries; ++j) CHECK(logits[j] == (i == j ? -1.25 : 0));
    }
  }
}

TEST_CASE("topic: with noise the logits' options fill the matrix", "[fast][topic][full]") {
  const Made made = make_run(joined(weights(2, 5), {"--mode", "sgd", "--learning-rate", "0.1"}));
  const auto& system = dynamic_cast<const FullTopic&>(*made.system);
  const Eigen::MatrixXd logit = full(system, start_of(system)).logit;
  CHECK(logit(2, 2) == std::log(5));
  CHECK(logit(1, 2) == std::log(2));
  CHECK(logit(4, 2) == 0);
  CHECK(logit(0, 2) == 0);
}

TEST_CASE("topic: the landscape's loss is the mean over all documents", "[fast][topic]") {
  for (const double alpha : {0.3, 1.0, 7.0}) {
    for (const double beta : {0.1, 1.0, 20.0}) {
      INFO("alpha " << alpha << ", beta " << beta);
      const Words words = weights(alpha, beta);
      const Made made = make_run(words);
      const auto& system = dynamic_cast<const Topic&>(*made.system);
      const Values<double> W = ValueFlow(system.data(), system.variant().l2).optimum();
      Logits<double> logits{};
      logits[logit_same_word] = std::log(beta);
      logits[logit_same_topic] = std::log(alpha);
      const Matrices at{full_value(system.data(), W), full_logit(system.data(), logits)};
      CHECK(loss_of(words) == Approx(enumerated(system.data(), at).loss +
                                     system.variant().l2 * at.value.squaredNorm())
                                  .epsilon(1e-13));
    }
  }
}

TEST_CASE("topic: with a block-wise W_V the landscape depends on the topic's weight alone",
          "[fast][topic]") {
  // Logits with (v-1) alpha + beta = 8, where v = 3.
  const double loss = loss_of(weights(1, 6));
  CHECK(loss_of(weights(3.5, 1)) == Approx(loss).epsilon(1e-14));
  CHECK(loss_of(weights(0.01, 7.98)) == Approx(loss).epsilon(1e-14));
  CHECK(std::abs(loss_of(weights(1, 7)) - loss) > 1e-6);
  // The loss depends on both numbers if W_V distinguishes the word from its topic.
  const Words identity = {"--value-init", "identity", "--init-scale", "0.3"};
  CHECK(std::abs(loss_of(joined(weights(3.5, 1), identity)) -
                 loss_of(joined(weights(1, 6), identity))) > 1e-3);
}

TEST_CASE("topic: an option for a logit that does not exist is refused", "[fast][topic]") {
  const auto complaint = [](const Words& words) {
    try {
      make_run(joined(words, {"--init-logit-word-key", "0.5"}));
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK_THAT(complaint({}), Contains("--init-logit-word-key 0.5") && Contains("direct"));
  for (const std::string train : {"value", "embedding"})
    CHECK_THAT(complaint({"--train", train, "--parameterization", "direct"}),
               Contains("--init-logit-word-key 0.5") && Contains("uniform"));
  CHECK(complaint({"--parameterization", "direct"}) == "none");
  // An option with the value 0 is accepted.
  CHECK_NOTHROW(make_run({"--init-logit-word-key", "0"}));
}

TEST_CASE("topic: unequal logits start off the unstable manifold", "[fast][topic]") {
  const Words on = {"--parameterization", "direct", "--value-init", "optimum"};
  CHECK_THROWS_AS(make_run(on), UsageError);
  CHECK_THROWS_AS(
      make_run(joined(on, {"--init-logit-same-word", "1", "--init-logit-same-topic", "1"})),
      UsageError);
  CHECK_NOTHROW(make_run(joined(on, {"--init-logit-same-word", "1"})));
}
