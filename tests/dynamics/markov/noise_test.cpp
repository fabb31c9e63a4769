#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "popflow/flow_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"
#include "support/markov_sampler.hpp"
#include "support/monte_carlo.hpp"

// Sampled sequences and their exact covariance, compared with all possible sequences and with
// sequences drawn symbol by symbol.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;
using popflow::test::sampled;
using popflow::test::SampleMean;

namespace {

const std::vector<Eigen::Vector3d> kStates = {
    {0.5, 0.3, 0.2}, {-1.3, 0.6, -0.7}, {0.9, -0.4, 1.1}, {1.7, -0.9, 0.4}, {1.1, 0, 0.5}};

/// Calls `visit` for all sequences of a length, with their probabilities.
void all_sequences(const PQ& of, int length,
                   const std::function<void(const std::vector<int>&, double)>& visit) {
  std::vector<int> symbols(static_cast<std::size_t>(length));
  for (int bits = 0; bits < 1 << length; ++bits) {
    double probability = 1;
    for (std::size_t n = 0; n < symbols.size(); ++n) {
      symbols[n] = bits >> n & 1;
      const double one = n == 0 ? of.p / (of.p + of.q) : (symbols[n - 1] == 0 ? of.p : 1 - of.q);
      probability *= symbols[n] == 1 ? one : 1 - one;
    }
    visit(symbols, probability);
  }
}

Eigen::MatrixXd covariance(const Markov& system, const Eigen::VectorXd& x) {
  Eigen::MatrixXd c(x.size(), x.size());
  system.covariance(numbers_of(x), 0, c);
  return c;
}

}  // namespace

TEST_CASE("markov: mean and covariance agree with sums over all sequences",
          "[fast][markov][noise]") {
  for (const PQ& of : kChains) {
    for (const int length : {2, 3, 4, 5, 8, 11}) {
      for (const Eigen::Vector3d& at : kStates) {
        INFO("p = " << of.p << ", q = " << of.q << ", length " << length << ", at "
                    << at.transpose());
        const Sampling sampling{.context_length = length};
        const auto check = [&](const Markov& system, const Eigen::VectorXd& x,
                               const Eigen::Vector3d& with_bias) {
          const Eigen::Index n = x.size();
          const Eigen::VectorXd mean = rhs(system, x);
          Eigen::VectorXd first = Eigen::VectorXd::Zero(n);
          Eigen::MatrixXd second = Eigen::MatrixXd::Zero(n, n);
          double size = 0;
          all_sequences(of, length, [&](const std::vector<int>& sequence, double probability) {
            const Eigen::VectorXd v = -sequence_loss(sequence, with_bias).by.head(n) - mean;
            first += probability * v;
            second += probability * v * v.transpose();
            size += probability * v.squaredNorm();
          });
          CHECK(first.norm() < 1e-13 * (1 + mean.norm()));
          const Eigen::MatrixXd exact = covariance(system, x);
          CHECK((exact - second).norm() < 1e-13 * size + 1e-14);
          CHECK((exact - exact.transpose()).norm() < 1e-15 * size);
        };
        check(free_bias(of, at[0], at[1], at[2], sampling), at, at);
        const Markov best = optimal(of, at[0], at[1], sampling);
        Eigen::Vector3d with_bias = at;
        with_bias[2] = recorded_bias(best, at.head<2>());
        check(best, at.head<2>(), with_bias);
      }
    }
  }
}

TEST_CASE("markov: the covariance of long contexts is accurate", "[fast][markov][noise]") {
  // Compares with the sum over lags by definition, in long double, for lengths up to 2^53.
  for (const PQ& of : kChains) {
    const Eigen::Vector3d at(0.9, -0.4, 1.1);
    INFO("p = " << of.p << ", q = " << of.q);
    // Covariance E[u_n u_{n+l}'] - E[u] E[u]', where u(a,b) is the gradient of a pair.
    using Matrix = Eigen::Matrix<long double, 3, 3>;
    using Vector = Eigen::Matrix<long double, 3, 1>;
    const long double p = of.p, q = of.q, lambda = 1 - p - q;
    const long double pi[] = {q / (p + q), p / (p + q)};
    const long double to[2][2] = {{1 - p, p}, {q, 1 - q}};
    const auto u = [&](int a, int b) -> Vector {
      return -pair_loss(a, b, at).by.cast<long double>();
    };
    Vector mean = Vector::Zero();
    Matrix same = Matrix::Zero();
    Vector then[2] = {Vector::Zero(), Vector::Zero()};  // E[u | a]
    for (const int a : {0, 1})
      for (const int b : {0, 1}) {
        mean += pi[a] * to[a][b] * u(a, b);
        same += pi[a] * to[a][b] * u(a, b) * u(a, b).transpose();
        then[a] += to[a][b] * u(a, b);
      }
    same -= mean * mean.transpose();
    Matrix next = Matrix::Zero();  // lag 1; lag l has lambda^(l-1) times this matrix
    for (const int a : {0, 1})
      for (const int b : {0, 1}) next += pi[a] * to[a][b] * u(a, b) * (then[b] - mean).transpose();
    for (const std::int64_t symbols : {2LL, 3LL, 65LL, 1000LL, 40000LL}) {
      const std::int64_t N = symbols - 1;
      long double lags = 0, power = 1;
      for (std::int64_t l = 1; l < N; ++l, power *= lambda)
        lags += static_cast<long double>(N - l) * power;
      const Matrix sum = static_cast<long double>(N) * same + lags * (next + next.transpose());
      const Eigen::Matrix3d expected =
          (sum / static_cast<long double>(N) / static_cast<long double>(N)).cast<double>();
      const Eigen::MatrixXd found =
          covariance(free_bias(of, at[0], at[1], at[2], {.context_length = symbols}), at);
      INFO(symbols << " symbols");
      CHECK((found - expected).norm() < 1e-12 * expected.norm());
    }
    // For long contexts the covariance is the asymptotic variance over the length.
    const Matrix limit = same + (next + next.transpose()) / (p + q);
    const std::int64_t longest = std::int64_t{1} << 53;
    const Eigen::MatrixXd found =
        covariance(free_bias(of, at[0], at[1], at[2], {.context_length = longest}), at);
    CHECK((found * 0x1p53 - limit.cast<double>()).norm() < 1e-9 * limit.cast<double>().norm());
  }
}

TEST_CASE("markov: transitions occur as often as in sequences drawn symbol by symbol",
          "[fast][markov][noise]") {
  // 200 000 chains of 5 symbols. The frequencies of all events of a chain lie within 5 standard
  // errors of their probabilities over all sequences. With another seed one of these about 130
  // numbers fails with probability 1e-4.
  using Seen = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  Workers workers(1);
  std::uint32_t number = 0;
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}, PQ{0.9, 0.05}, PQ{0.999, 0.998}}) {
    const TransitionSampler sampler(Chain(of.p, of.q), 5, workers);
    std::map<Seen, double> expected, found;
    all_sequences(of, 5, [&](const std::vector<int>& x, double probability) {
      std::int64_t from1 = 0, up = 0, down = 0;
      for (std::size_t n = 0; n + 1 < x.size(); ++n) {
        from1 += x[n];
        up += x[n] < x[n + 1] ? 1 : 0;
        down += x[n] > x[n + 1] ? 1 : 0;
      }
      expected[{from1, up, down}] += probability;
    });
    constexpr int kDraws = 200'000;
    ++number;
    for (int i = 0; i < kDraws; ++i) {
      const TransitionNumbers drawn =
          sampler.draw(RandomStream(3, Purpose::test, number, static_cast<std::uint64_t>(i)));
      REQUIRE(drawn.from0 + drawn.from1 == 4);
      found[{drawn.from1, drawn.up, drawn.down}] += 1.0 / kDraws;
    }
    for (const auto& [seen, frequency] : found) CHECK(expected.count(seen) == 1);
    for (const auto& [seen, probability] : expected)
      CHECK(std::abs(found[seen] - probability) <
            5 * std::sqrt(probability * (1 - probability) / kDraws) + 5.0 / kDraws);
  }
}

TEST_CASE("markov: a batch's chains have the same bits as single streams",
          "[fast][markov][noise]") {
  // Compares words drawn in blocks with one stream per chain. A length of 10 000 takes more words
  // than one block.
  Workers workers(1);
  const Chain chain(0.2, 0.3);
  const SampleKey key{7, Purpose::samples, 5, 0xffff'fff0};
  const std::vector<double> weights = {0.5, 1,   0.25, 0.1, 3,    0.7, 0.3, 0.2,  0.9, 1.7,
                                       0.4, 0.6, 0.8,  2,   0.15, 1.1, 1.3, 0.05, 1.9};
  for (const std::int64_t length : {2, 20, 65, 66, 129, 1024, 10'000}) {
    const TransitionSampler sampler(chain, length, workers);
    const auto n = static_cast<double>(length - 1);
    TransitionSums expected;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const TransitionNumbers drawn = sampler.draw(key.stream(i));
      const auto from0 = static_cast<double>(drawn.from0), from1 = static_cast<double>(drawn.from1);
      const double weight = weights[i] / n;
      expected.visits0 += weight * from0;
      expected.visits1 += weight * from1;
      expected.excess0 += weight * (static_cast<double>(drawn.up) - chain.p * from0);
      expected.excess1 += weight * (chain.q * from1 - static_cast<double>(drawn.down));
    }
    const TransitionSums sum = sampler.sum(key, weights);
    INFO("length " << length);
    CHECK(sum.visits0 == expected.visits0);
    CHECK(sum.visits1 == expected.visits1);
    CHECK(sum.excess0 == expected.excess0);
    CHECK(sum.excess1 == expected.excess1);
  }
}

TEST_CASE("markov: sampled gradients have the flow as their mean, and the exact covariance",
          "[fast][markov][noise]") {
  // Lengths of less than a block, one block, or blocks and a part. 40 000 samples; first moments,
  // and second moments along four directions, lie within 5 standard errors. With another seed one
  // of the 210 numbers fails with probability 1e-4.
  for (const PQ& of : {PQ{0.2, 0.3}, PQ{0.7, 0.8}, PQ{0.05, 0.5}}) {
    for (const std::int64_t length : {2, 20, 65, 66, 150, 1024}) {
      const Eigen::Vector3d at(0.9, -0.4, 1.1);
      INFO("p = " << of.p << ", q = " << of.q << ", length " << length);
      const Markov system = free_bias(of, at[0], at[1], at[2], {.context_length = length});
      const Eigen::VectorXd mean = rhs(system, at);
      Eigen::MatrixXd directions(3, 4);
      directions << 1, 0, 0, 1, 0, 1, 0, -1, 0, 0, 1, 1;
      SampleMean first(3), second(4);
      for (std::uint64_t i = 0; i < 40'000; ++i) {
        const Eigen::VectorXd v = sampled(system, at, i, {1.0}) - mean;
        first.add(v);
        second.add((directions.transpose() * v).array().square().matrix());
      }
      CHECK(first.worst_z(Eigen::VectorXd::Zero(3)) < 5);
      const Eigen::VectorXd exact =
          (directions.transpose() * covariance(system, at) * directions).diagonal();
      CHECK(second.worst_z(exact) < 5);
      CHECK(second.standard_error().cwiseQuotient(exact).maxCoeff() < 0.05);
    }
  }
}

TEST_CASE("markov: a weighted sum of samples is the sum of the samples", "[fast][markov][noise]") {
  const Eigen::Vector3d at(0.9, -0.4, 1.1);
  const Markov system = free_bias({0.2, 0.3}, at[0], at[1], at[2], {.context_length = 100});
  std::vector<double> weights(150);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::sin(static_cast<double>(3 * i)) + (i % 7 == 0 ? 0 : 0.3);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(3);
  for (std::size_t i = 0; i < weights.size(); ++i) sum += sampled(system, at, 50 + i, {weights[i]});
  CHECK((sampled(system, at, 50, weights) - sum).norm() < 1e-13);
  // SGD adds samples to the state itself. The sum does not depend on the number of threads.
  Workers four(4);
  const Markov threaded(Chain(0.2, 0.3), true, {at[0], at[1], at[2]}, {}, {.context_length = 100},
                        four);
  weights.resize(20'000, 0.01);
  Eigen::VectorXd moved = at;
  system.add_sampled(numbers_of(moved), 0, {7, Purpose::test, 0, 50}, weights, {moved.data(), 3});
  CHECK((moved - at - sampled(system, at, 50, weights)).norm() < 1e-13);
  CHECK(sampled(threaded, at, 50, weights) == sampled(system, at, 50, weights));
}

TEST_CASE("markov: no sample moves e = 0 or w = 0", "[fast][markov][noise]") {
  const Markov system = optimal({0.2, 0.3}, 0.5, 0);
  CHECK(sampled(system, Eigen::Vector2d(0.5, 0), 1, {1.0})[1] == 0);
  CHECK(sampled(system, Eigen::Vector2d(0, -0.4), 1, {1.0}).norm() == 0);
  CHECK(covariance(system, Eigen::Vector2d(0, -0.4)).norm() == 0);
  CHECK(covariance(system, Eigen::Vector2d(0.5, 1e-300)).col(1).norm() == 0);
}

TEST_CASE("markov: with noise the energy's fluctuation agrees with its formula",
          "[fast][markov][noise]") {
  // A sample changes the energy by -2 e^2 times its change of the bias. So the energy's variance is
  // (eta/B) int 4 e^4 C_bb dt along the flow. Its mean follows from the second derivatives H:
  // (eta/2) int [tr(H C)/B + f'Hf] dt. Over 4000 runs the standard deviation agrees to 5 x 1.1% and
  // the mean to 5 standard errors, both up to corrections of relative order eta.
  const PQ of{0.2, 0.3};
  const double eta = 0.04, t = 4;
  const std::int64_t B = 2;
  const Sampling sampling{.context_length = 30, .noisy = true};
  const Markov system = optimal(of, 0.8, 0.5, sampling);

  double variance = 0, drift = 0;
  constexpr int kParts = 200;
  const double dt = t / kParts;
  FlowDriver flow(system, pool(), {});
  for (int i = 0; i < kParts; ++i) {
    REQUIRE(flow.advance((i + 0.5) * dt).kind == Outcome::Kind::reached);
    const Eigen::Vector2d x(flow.state()[0], flow.state()[1]);
    const Eigen::Vector3d with_bias(x[0], x[1], recorded_bias(system, x));
    const Eigen::MatrixXd c =
        covariance(free_bias(of, x[0], x[1], with_bias[2], sampling), with_bias);
    variance += dt * eta / B * 4 * std::pow(x[0], 4) * c(2, 2);
    const Eigen::Vector2d H(2, -2 + 1 / (x[1] * x[1]));
    const Eigen::VectorXd f = rhs(system, x);
    drift += dt * eta / 2 * (H.dot(c.diagonal().head<2>()) / B + f.dot(H.cwiseProduct(f)));
  }

  constexpr std::uint32_t kRuns = 4000;
  double sum = 0, squares = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    SgdDriver sgd(system, pool(), {.learning_rate = eta, .batch_size = B, .run = run});
    REQUIRE(sgd.advance(t).kind == Outcome::Kind::reached);
    const double change = energy(sgd.state()[0], sgd.state()[1]) - energy(0.8, 0.5);
    sum += change;
    squares += change * change;
  }
  const double mean = sum / kRuns;
  const double deviation = std::sqrt(squares / kRuns - mean * mean);
  INFO("standard deviation " << deviation << ", expected " << std::sqrt(variance) << "; mean "
                             << mean << ", expected " << drift << ", over sqrt(eta) "
                             << deviation / std::sqrt(eta));
  CHECK(deviation == Approx(std::sqrt(variance)).epsilon(0.056 + eta));
  CHECK(std::abs(mean - drift) < 5 * deviation / std::sqrt(kRuns) + 3 * eta * std::abs(drift));
  CHECK(std::abs(drift) > 4 * deviation / std::sqrt(kRuns));
}

TEST_CASE("markov: a noisy run's outcome depends on its end alone", "[fast][markov][noise]") {
  const auto ends = [](const PQ& of, const Eigen::Vector2d& x) {
    // Starts that the flow takes to a local and to a global minimum give the same outcome.
    const Sampling noisy{.noisy = true};
    const std::string a = optimal(of, 0.1, -1.1, noisy).outcome(numbers_of(x), 1);
    const std::string b = optimal(of, 0.5, 0.5, noisy).outcome(numbers_of(x), 1);
    Eigen::Vector3d with_bias(x[0], x[1], 0);
    with_bias[2] = recorded_bias(optimal(of, 1, 1), x);
    const std::string c = free_bias(of, 1, 1, 0, noisy).outcome(numbers_of(with_bias), 1);
    CHECK(a == b);
    CHECK(a == c);
    return a;
  };
  const PQ stay{0.2, 0.3};
  const PQ alternate{0.7, 0.8};
  const double s = Chain(0.2, 0.3).best_slope;
  const double e = std::sqrt(s / (1 + 2 * 0.25));
  CHECK(ends(stay, {e, 0.5}) == "global");
  CHECK(ends(stay, {-1.05 * e, 0.5}) == "global");  // e may have changed its sign
  CHECK(ends(stay, {std::sqrt(s), 0}) == "global");
  CHECK(ends(stay, {0.05, -1.1}) == "local");
  CHECK(ends(stay, {-0.05, -1.1}) == "local");
  CHECK(ends(stay, {0.05, 0.3}) == "undecided");    // on its way from the line e = 0
  CHECK(ends(stay, {0.05, -0.71}) == "undecided");  // near the saddle
  CHECK(ends(stay, {0, -1}) == "local");
  CHECK(ends(stay, {0, 1}) == "maximum");
  CHECK(ends(alternate, {0.05, 0.3}) == "local");
  CHECK(ends(alternate, {0.05, 0}) == "local");
  CHECK(ends(alternate, {0.05, -0.3}) == "local");
  CHECK(ends(alternate, {0.05, -1.1}) == "undecided");
  CHECK(ends(alternate, {1.5, 0.4}) == "undecided");
  CHECK(ends({0.3, 0.7}, {0.01, 0.5}) == "global");
  const Eigen::Vector2d zero(0.4, 0);
  for (const auto& [name, value] : observe(optimal(stay, 0.4, 0, {.noisy = true}), zero)) {
    INFO(name);
    CHECK(std::isnan(value) == (name == "energy"));
  }
}
