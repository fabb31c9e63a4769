// Training in two stages: thresholds on given columns, the switch compared with the signal
// equations, full compared with support coordinates, the valley of stage 2, and refused options.

#include <cmath>
#include <cstring>

#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "popflow/sgd_driver.hpp"
#include "support/catch.hpp"
#include "support/make_system.hpp"
#include "support/scb_fixture.hpp"

using namespace popflow;
using namespace popflow::scb;
using namespace popflow::scb::test;
using Catch::Contains;

namespace {

bool same_bits(const Eigen::VectorXd& a, const Eigen::VectorXd& b, Eigen::Index size) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(size) * sizeof(double)) == 0;
}

Eigen::VectorXd vector_of(const State& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
}

/// Returns two stages with the given numbers.
scb::Training two_stages(double l1, double threshold, TwoStage two = {}) {
  two.threshold = threshold;
  return {.l1 = l1, .two_stage = two, .rounding = 0.1};
}

std::map<std::string, double> finals(const System& system, StateView x, double t) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(system.info().finals.size()));
  system.capabilities().final_values->final_values(x, t, view(values));
  std::map<std::string, double> named;
  for (Eigen::Index i = 0; i < values.size(); ++i)
    named[system.info().finals[static_cast<std::size_t>(i)].name] = values[i];
  return named;
}

/// Problem of two tokens over six positions; the columns of Q have two and three positions.
Problem small_problem() {
  Problem problem = uneven_problem(2, 6, 3, 1);
  set_column(problem.Q, 0, {{0, 0.6}, {2, 0.4}});
  set_column(problem.Q, 1, {{1, 0.5}, {3, 0.25}, {4, 0.25}});
  return problem;
}

/// Returns the population loss by its definition in dense matrices.
double loss_of(const Problem& problem, const Matrices& at) {
  const Eigen::MatrixXd& P = problem.P;
  const Eigen::VectorXd& mu = problem.mu;
  Eigen::MatrixXd sigma = -mu * mu.transpose();
  sigma.diagonal() += mu;
  const Eigen::MatrixXd Q = dense_Q(problem);
  double loss = 0.5;
  for (Eigen::Index k = 0; k < mu.size(); ++k) {
    const double s = at.A.col(k).sum();
    loss += 0.5 * mu[k] *
            (-2 * (Q.col(k).dot(at.A.col(k)) * (at.V.transpose() * P * sigma).trace() +
                   s * mu.dot(at.V.transpose() * P * mu)) +
             at.A.col(k).squaredNorm() * (at.V.transpose() * at.V * sigma).trace() +
             s * s * (at.V * mu).squaredNorm());
  }
  return loss;
}

/// Returns the parameters that make() resolves from these words of a command line.
Parameters settled(const std::vector<std::string>& words) {
  Workers workers(1);
  return popflow::test::make_system(popflow::test::parse("scb", words), workers).own;
}

std::string refusal(std::vector<std::string> words) {
  words.insert(words.begin(), {"--schedule", "two-stage", "--l1", "0"});
  try {
    settled(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("The threshold zeroes small weights and normalises columns", "[fast][scb][stages]") {
  const Problem problem = small_problem();
  const auto system = make_scb(problem, {}, Coordinates::full,
                               start_value(problem, From::stationary), two_stages(0, 0.25));
  Matrices point{start_value(problem, From::anywhere), Eigen::MatrixXd(6, 2)};
  // A weight equal to the threshold stays, and a negative one is zeroed, however large.
  point.A.col(0) << 0.5, 0.25, 0.125, -0.375, 0.5, 0;
  // If all weights are below the threshold the largest ones stay.
  point.A.col(1) << 0.125, 0.1875, 0.1875, 0.1875, 0.15625, 0.15625;
  Eigen::VectorXd x = full_state(*system, point);
  Regime regime = system->first_regime();
  system->switch_regime(view(x), regime, 3);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(6, 2);
  expected.col(0) << 0.4, 0.2, 0, 0, 0.4, 0;
  expected.col(1) << 0, 1 / 3.0, 1 / 3.0, 1 / 3.0, 0, 0;
  const Matrices after = recorded(*system, x);
  CHECK((after.A - expected).cwiseAbs().maxCoeff() < 1e-16);
  const bool same_zeros = ((after.A.array() == 0) == (expected.array() == 0)).all();
  CHECK(same_zeros);
  CHECK(after.V == recorded(*system, full_state(*system, point)).V);
  CHECK(system->stage({view(x), regime}) == 2);
  CHECK(finals(*system, {view(x), regime}, 3).at("columns_below_threshold") == 1);

  // The threshold is relative to the column's sum.
  point.A *= 2;
  Eigen::VectorXd y = full_state(*system, point);
  regime = system->first_regime();
  system->switch_regime(view(y), regime, 3);
  CHECK((recorded(*system, y).A - expected).cwiseAbs().maxCoeff() < 1e-16);
}

TEST_CASE("The threshold acts in support coordinates as in full ones", "[fast][scb][stages]") {
  const Problem problem = small_problem();
  const auto V0 = start_value(problem, From::transfer);
  for (const double threshold : {0.0, 0.05, 0.15, 0.3, 0.9}) {
    INFO("threshold " << threshold);
    const auto full = make_scb(problem, {}, Coordinates::full, V0, two_stages(0, threshold));
    const auto support = make_scb(problem, {}, Coordinates::support, V0, two_stages(0, threshold));
    Eigen::VectorXd reduced = random_state(*support, 0.1, 4);
    // The largest weights of this column are off the support.
    reduced.segment(4, 4) << -0.1, -0.1, 0, 0.05;
    Eigen::VectorXd x = full_state(*full, recorded(*support, reduced));
    Regime regime = full->first_regime(), reduced_regime = support->first_regime();
    full->switch_regime(view(x), regime, 1);
    support->switch_regime(view(reduced), reduced_regime, 1);
    const Matrices a = recorded(*full, x), b = recorded(*support, reduced);
    CHECK((a.A - b.A).cwiseAbs().maxCoeff() < 1e-15);
    CHECK((a.A.colwise().sum().array() - 1).abs().maxCoeff() < 1e-15);
    const auto ends = finals(*full, {view(x), regime}, 1),
               reduced_ends = finals(*support, {view(reduced), reduced_regime}, 1);
    for (const auto& [name, value] : ends) {
      INFO(name);
      CHECK(reduced_ends.at(name) == Approx(value).epsilon(1e-12));
    }
    if (threshold == 0.9) CHECK(ends.at("columns_below_threshold") == 2);
  }
}

TEST_CASE("The final values round and normalise each column", "[fast][scb][stages]") {
  const Problem problem = small_problem();
  scb::Training training{.rounding = 0.3};
  for (const bool project : {true, false}) {
    const auto system = make_scb(problem, {.project = project}, Coordinates::full,
                                 start_value(problem, From::stationary), training);
    REQUIRE(system->shape().finals);
    CHECK_FALSE(system->shape().stages);
    Matrices point{start_value(problem, From::anywhere), Eigen::MatrixXd(6, 2)};
    point.V.col(1) *= 3;
    // The sum is 1.5, so weights below 0.3 * 1.5 = 0.45 are not kept.
    point.A.col(0) << 0.9, 0, 0.6, 0.1, -0.1, 0;
    point.A.col(1) << 0.1, 0.1, 0.1, 0.05, 0.05, 0.1;  // no weight is kept
    Matrices after{point.V, Eigen::MatrixXd::Zero(6, 2)};
    for (Eigen::Index m = 0; m < 2; ++m) after.V.col(m) /= point.V.col(m).sum();
    after.A.col(0) << 0.6, 0, 0.4, 0, 0, 0;
    const Eigen::VectorXd x = full_state(*system, point);
    const auto ends = finals(*system, view(x), 0);
    CHECK(ends.at("loss_before") == Approx(loss_of(problem, point)).epsilon(1e-13));
    CHECK(ends.at("loss_after") == Approx(loss_of(problem, after)).epsilon(1e-13));
    CHECK(ends.at("distance_P_before") == Approx((point.V - problem.P).norm()).epsilon(1e-13));
    CHECK(ends.at("distance_P_after") == Approx((after.V - problem.P).norm()).epsilon(1e-13));
    const Eigen::MatrixXd Q = dense_Q(problem);
    CHECK(ends.at("distance_Q_before") == Approx((point.A - Q).norm()).epsilon(1e-13));
    CHECK(ends.at("distance_Q_after") == Approx((after.A - Q).norm()).epsilon(1e-13));
    CHECK(ends.at("weights_kept") == 2);
    CHECK(ends.at("columns_emptied") == 1);
    CHECK(ends.at("columns_of_V_kept") == 0);
    // The state itself is unchanged.
    CHECK((recorded(*system, x).A - point.A).cwiseAbs().maxCoeff() < 1e-15);
    CHECK((system->trained_value(view(x), 0) - after.V).cwiseAbs().maxCoeff() < 1e-14);

    // A column of V without a positive sum is not normalised.
    point.V.col(0) *= -1;
    CHECK(finals(*system, view(full_state(*system, point)), 0).at("columns_of_V_kept") == 1);
  }
}

TEST_CASE("Anywhere in the valley the final values are P and Q", "[fast][scb][stages]") {
  const Problem problem = small_problem();
  const auto system =
      make_scb(problem, {}, Coordinates::full, start_value(problem, From::stationary),
               scb::Training{.rounding = 0.2});
  for (const double c : {0.1, 1.0, 7.0}) {
    const Matrices point{c * problem.P, dense_Q(problem) / c};
    const auto ends = finals(*system, view(full_state(*system, point)), 0);
    CHECK(ends.at("distance_P_after") < 1e-14);
    CHECK(ends.at("distance_Q_after") < 1e-14);
    CHECK(ends.at("loss_after") == Approx(ends.at("loss_before")).epsilon(1e-14));
    CHECK(ends.at("weights_kept") == 5);
  }
}

TEST_CASE("Stage 1 ends at the time of the signal equations", "[fast][numbers][scb][stages]") {
  const Problem problem = uneven_problem(5, 200, 3, 1);
  const auto signal =
      make_scb(problem, {}, Coordinates::signal, start_value(problem, From::stationary));
  const double level = GENERATE(0.2, 0.5, 0.8);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    for (const bool splitting : {false, true}) {
      const auto system = make_scb(problem, {}, coordinates, start_value(problem, From::stationary),
                                   two_stages(splitting ? 1e-4 : 0, 0.05, {.signal = level}));
      FlowDriver::Options options{.rtol = 1e-11, .atol = 1e-13};
      Flow reduced(*signal, options);
      if (splitting) options.dt = 0.37;
      Flow flow(*system, options);
      flow.to(60);
      const double time = flow.event("stage2");
      const auto seen = observe(*signal, reduced.to(time), time);
      INFO(describe(coordinates) << ", level " << level << ", t = " << time);
      CHECK(std::abs(seen.at("signal_V") * seen.at("signal_A") - level) < 1e-9);
      if (level == 0.5) CHECK(flow.event("boosted") == Approx(time).epsilon(1e-10));
    }
  }
}

TEST_CASE("Without l1 and threshold two stages follow the plain flow until the switch",
          "[fast][scb][stages]") {
  const Problem problem = uneven_problem(5, 40, 3, 2);
  const auto V0 = start_value(problem, From::stationary);
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto plain = make_scb(problem, {}, coordinates, V0);
    const auto staged =
        make_scb(problem, {}, coordinates, V0, two_stages(0, 0, {.signal = {}, .time = 12.5}));
    const auto size = static_cast<Eigen::Index>(plain->shape().state_size());
    CHECK_FALSE(staged->capabilities().proximal);
    for (const char* method : {"dopri5", "rk4"}) {
      Flow a(*plain, {.method = method, .dt = 0.1});
      Flow b(*staged, {.method = method, .dt = 0.1});
      for (const double t : {1.0, 5.0, 12.0}) CHECK(same_bits(a.to(t), b.to(t), size));
      CHECK(std::isnan(b.event("stage2")));
      // Without a threshold the switch changes no weight.
      const Eigen::VectorXd after = b.to(12.5 + 1e-9);
      CHECK(b.event("stage2") == Approx(12.5).epsilon(1e-12));
      CHECK((after.head(size) - a.to(12.5 + 1e-9)).cwiseAbs().maxCoeff() < 1e-8);
    }
  }
  Workers workers(2);
  const auto plain = make_scb(problem, {}, Coordinates::full, V0);
  const auto staged =
      make_scb(problem, {}, Coordinates::full, V0, two_stages(0, 0, {.signal = {}, .time = 0.9}));
  const auto size = static_cast<Eigen::Index>(plain->shape().state_size());
  const auto check = [&](Driver& a, Driver& b) {
    for (const double t : {0.3, 0.8}) {
      REQUIRE(a.advance(t).kind == Outcome::Kind::reached);
      REQUIRE(b.advance(t).kind == Outcome::Kind::reached);
      CHECK(same_bits(vector_of(a.state()), vector_of(b.state()), size));
    }
    REQUIRE(a.advance(1).kind == Outcome::Kind::reached);
    REQUIRE(b.advance(1).kind == Outcome::Kind::reached);
    CHECK_FALSE(same_bits(vector_of(a.state()), vector_of(b.state()), size));
    CHECK(staged->stage(b.view()) == 2);
    REQUIRE(b.events().size() == 1);
    // Stage 2 starts after the first step that ends at or after its time.
    CHECK(b.events()[0].time == Approx(0.9).epsilon(1e-12));
  };
  SgdDriver sgd_a(*plain, workers, {.learning_rate = 0.02, .batch_size = 4});
  SgdDriver sgd_b(*staged, workers, {.learning_rate = 0.02, .batch_size = 4});
  check(sgd_a, sgd_b);
  SdeDriver sde_a(*plain, workers, {.learning_rate = 0.02, .dt = 0.02, .noise_samples = 4});
  SdeDriver sde_b(*staged, workers, {.learning_rate = 0.02, .dt = 0.02, .noise_samples = 4});
  check(sde_a, sde_b);
}

TEST_CASE("Each stage has its own flow, noise and samples", "[fast][scb][stages]") {
  const Problem problem = uneven_problem(4, 9, 3, 4);
  const auto V0 = start_value(problem, From::anywhere);
  const auto staged = make_scb(problem, {}, Coordinates::full, V0, two_stages(0.2, 0.1));
  const auto projected = make_scb(problem, {}, Coordinates::full, V0, 0.2);
  const auto free = make_scb(problem, {.project = false}, Coordinates::full, V0, 0.2);
  const auto size = static_cast<Eigen::Index>(free->shape().state_size());
  const Eigen::VectorXd plain = random_state(*free, 0.1, 3);
  const std::vector<double> weights = {0.5, -1, 2};
  const SampleKey key{1, Purpose::test, 0, 0};
  RandomStream random(1, Purpose::test, 9);
  const Eigen::VectorXd noise = normal_vector(size, random);
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage);
    const Regime regime = {static_cast<double>(stage), 0, 0, 0};
    const StateView x{view(plain), regime};
    const Scb& other = stage == 1 ? *projected : *free;
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(size);
    CHECK(same_bits(rhs(*staged, plain, 0, regime), stage == 3 ? zero : rhs(other, plain), size));

    Eigen::VectorXd sum = zero, expected = zero;
    staged->add_sampled(x, 0, key, weights, view(sum));
    if (stage < 3) other.add_sampled(view(plain), 0, key, weights, view(expected));
    CHECK(same_bits(sum, expected, size));

    Eigen::VectorXd moved = plain, soft = plain;
    staged->proximal(view(moved), regime, 0.3);
    if (stage == 2) free->proximal(view(soft), {}, 0.3);
    CHECK(same_bits(moved, soft, size));

    Eigen::VectorXd drawn = noise;
    staged->project_noise(x, view(drawn));
    const auto A = drawn.segment(16, 36).reshaped(9, 4);
    if (stage == 1) CHECK(A.colwise().sum().cwiseAbs().maxCoeff() < 1e-14);
    if (stage == 2) CHECK(same_bits(drawn, noise, size));
    if (stage == 3) CHECK(drawn.norm() == 0);
    CHECK(staged->at_rest(x) == (stage == 3));
  }
}

TEST_CASE("Euler steps through the stages agree with dense matrix algebra", "[fast][scb][stages]") {
  // An independent implementation of the algorithm, with the paper's formulas of the gradients.
  const Problem problem = uneven_problem(4, 12, 3, 1);
  const Eigen::MatrixXd& P = problem.P;
  const Eigen::VectorXd& mu = problem.mu;
  const Eigen::MatrixXd Q = dense_Q(problem);
  Eigen::MatrixXd sigma = -mu * mu.transpose();
  sigma.diagonal() += mu;
  const double dt = 1.0 / 64, l1 = 0.02, threshold = 0.12;
  const int first = 64 * 12, all = 64 * 20;
  Matrices at{start_value(problem, From::stationary), Eigen::MatrixXd::Constant(12, 4, 1.0 / 12)};
  for (int step = 0; step < all; ++step) {
    if (step == first) {
      at.A = (at.A.array() < threshold).select(0, at.A);
      for (Eigen::Index k = 0; k < 4; ++k) at.A.col(k) /= at.A.col(k).sum();
    }
    Eigen::MatrixXd V_slope = Eigen::MatrixXd::Zero(4, 4);
    Eigen::MatrixXd A_slope(12, 4);
    for (Eigen::Index k = 0; k < 4; ++k) {
      const Eigen::VectorXd a = at.A.col(k);
      const double s = a.sum(), qa = Q.col(k).dot(a);
      V_slope += mu[k] * (-qa * P * sigma - s * P * mu * mu.transpose() +
                          a.squaredNorm() * at.V * sigma + s * s * at.V * mu * mu.transpose());
      const Eigen::VectorXd ones = Eigen::VectorXd::Ones(12);
      A_slope.col(k) = -(at.V.transpose() * P * sigma).trace() * Q.col(k) -
                       mu.dot(at.V.transpose() * P * mu) * ones +
                       (at.V.transpose() * at.V * sigma).trace() * a +
                       s * (at.V * mu).squaredNorm() * ones;
    }
    if (step < first) A_slope.rowwise() -= Eigen::RowVectorXd(A_slope.colwise().mean());
    at.V -= dt * V_slope * mu.cwiseInverse().asDiagonal();
    at.A -= dt * A_slope;
    if (step < first) continue;
    at.A = at.A.unaryExpr(
        [&](double a) { return std::copysign(std::max(std::abs(a) - l1 * dt, 0.0), a); });
  }
  for (const Coordinates coordinates : {Coordinates::full, Coordinates::support}) {
    const auto system = make_scb(problem, {}, coordinates, start_value(problem, From::stationary),
                                 two_stages(l1, threshold, {.signal = {}, .time = 12}));
    Flow flow(*system, {.method = "euler", .dt = dt});
    const Matrices end = recorded(*system, flow.to(20));
    CHECK((end.V - at.V).cwiseAbs().maxCoeff() < 1e-11);
    CHECK((end.A - at.A).cwiseAbs().maxCoeff() < 1e-11);
    CHECK((end.A.array() == 0).any());
    CHECK(flow.event("stage2") == 12);
  }
}

TEST_CASE("Noisy steps in place follow the stages", "[fast][scb][stages]") {
  const Problem problem = uneven_problem(4, 12, 3, 1);
  const double dt = 1.0 / 64;
  const auto system =
      make_scb(problem, {}, Coordinates::full, start_value(problem, From::stationary),
               two_stages(0.02, 0.12, {.signal = {}, .time = 12}));
  REQUIRE(system->capabilities().steps_in_place);
  Workers workers(2);
  // Without noise the steps are Euler steps of the flow.
  SdeDriver still(*system, workers,
                  {.learning_rate = dt, .dt = dt, .noise = "isotropic", .noise_scale = 0});
  Flow euler(*system, {.method = "euler", .dt = dt});
  for (const double t : {5.0, 12.0, 20.0}) {
    REQUIRE(still.advance(t).kind == Outcome::Kind::reached);
    const Eigen::VectorXd x = vector_of(still.state());
    // At t = 12 the noisy run has already changed its stage, and the flow has not.
    if (t != 12) CHECK((x - euler.to(t)).cwiseAbs().maxCoeff() < 1e-12);
  }
  // Stage 1 conserves the sums, and stage 2 does not.
  SdeDriver noisy(
      *system, workers,
      {.learning_rate = dt, .batch_size = 1, .dt = dt, .noise = "isotropic", .noise_scale = 0.01});
  REQUIRE(noisy.advance(11).kind == Outcome::Kind::reached);
  CHECK(observe(*system, vector_of(noisy.state())).at("attention_sum_error") < 1e-13);
  CHECK(observe(*system, vector_of(noisy.state())).at("column_sum_error") < 1e-13);
  REQUIRE(noisy.advance(13).kind == Outcome::Kind::reached);
  CHECK(observe(*system, vector_of(noisy.state())).at("attention_sum_error") > 1e-4);
  CHECK(observe(*system, vector_of(noisy.state())).at("column_sum_error") > 1e-4);
}

TEST_CASE("All stages agree in full and support coordinates", "[fast][numbers][scb][stages]") {
  const std::uint64_t seed = GENERATE(1, 2);
  const Problem problem = uneven_problem(5, 30, 3, seed);
  const auto V0 = start_value(problem, seed == 1 ? From::stationary : From::transfer);
  const bool inverse_frequency = GENERATE(true, false);
  const scb::Training training =
      two_stages(1e-3, 0.1, {.signal = 0.5, .plateau_time = 30, .plateau_fall = 1e-5});
  const Variant variant{.inverse_frequency = inverse_frequency};
  const auto full = make_scb(problem, variant, Coordinates::full, V0, training);
  const auto support = make_scb(problem, variant, Coordinates::support, V0, training);
  const FlowDriver::Options options{.rtol = 1e-10, .atol = 1e-12, .dt = 0.05};
  Flow a(*full, options), b(*support, options);
  for (const double t : {5.0, 30.0, 100.0, 400.0, 3000.0}) {
    const Eigen::VectorXd x = a.to(t), y = b.to(t);
    CHECK(full->stage(a.view()) == support->stage(b.view()));
    const Matrices one = recorded(*full, x, t), other = recorded(*support, y, t);
    CHECK(difference(one.A, other.A) < 1e-7);
    CHECK(difference(one.V, other.V) < 1e-7);
  }
  CHECK(full->stage(a.view()) == 3);
  for (const char* event : {"boosted", "stage2", "plateau"})
    CHECK(a.event(event) == Approx(b.event(event)).epsilon(1e-8));
  const auto ends = finals(*full, a.view(), 3000), other = finals(*support, b.view(), 3000);
  for (const auto& [name, value] : ends) {
    INFO(name);
    CHECK(other.at(name) == Approx(value).epsilon(1e-6));
  }
  // Rounding finds the right positions and reduces the distance.
  CHECK(ends.at("weights_kept") == static_cast<double>((dense_Q(problem).array() > 0.1).count()));
  CHECK(ends.at("distance_P_after") < ends.at("distance_P_before"));
}

TEST_CASE("Stage 2 ends at the plateau of the loss", "[fast][scb][stages]") {
  const Problem problem = uneven_problem(5, 30, 3, 1);
  const auto V0 = start_value(problem, From::stationary);
  const double span = 4, fall = 1e-3;
  const auto system =
      make_scb(problem, {}, Coordinates::support, V0,
               two_stages(0, 0.1, {.signal = 0.5, .plateau_time = span, .plateau_fall = fall}));
  const auto endless = make_scb(problem, {}, Coordinates::support, V0, two_stages(0, 0.1));
  Flow flow(*system, {.rtol = 1e-10}), other(*endless, {.rtol = 1e-10});
  const Eigen::VectorXd end = flow.to(500);
  other.to(500);
  const double begin = flow.event("stage2"), stop = flow.event("plateau");
  CHECK(std::isnan(other.event("plateau")));
  CHECK(std::abs(std::remainder(stop - begin, span)) < 1e-9);
  CHECK(flow.time() == 500);
  // Compares losses at the ends of the time spans, from the run that ignores the plateau.
  Flow again(*endless, {.rtol = 1e-10});
  again.to(begin + 1e-9);
  double before = observe(*endless, again.to(begin + 1e-9)).at("excess_loss");
  for (double t = begin + span; t < stop + 1; t += span) {
    const double now = observe(*endless, again.to(t)).at("excess_loss");
    const bool last = t > stop - 1;
    CHECK((before - now > fall) == !last);
    before = now;
  }
  CHECK(observe(*system, end).at("excess_loss") == Approx(before).epsilon(1e-6));
}

TEST_CASE("Stage 2 slides along its valley", "[slow][scb][stages]") {
  // Stage 2 equals plain l1 without the projection, started at the switch.
  const Problem problem = uneven_problem(5, 20, 3, 1);
  const Eigen::MatrixXd& P = problem.P;
  const double l1 = 1e-3;
  const double trace = (P * problem.mu.asDiagonal() * P.transpose()).trace();
  const double kappa_0 = problem.Q.weight.colwise().squaredNorm().dot(problem.mu);
  const auto system = make_scb(problem, {}, Coordinates::support,
                               start_value(problem, From::stationary), two_stages(l1, 0.1));
  Flow flow(*system, {.dt = 0.05});
  const auto c_at = [&](double t) {
    const auto [V, A] = recorded(*system, flow.to(t), t);
    const double c = V.cwiseProduct(P).sum() / P.squaredNorm();
    CHECK((V - c * P).norm() < 5e-3 * V.norm());
    CHECK((A - dense_Q(problem) / c).norm() < 1e-2 * A.norm());
    return c;
  };
  const auto rate = [&](double c) { return l1 / (c * c * trace + kappa_0 / (c * c)); };
  double t = 500;
  double predicted = c_at(t);
  const double distance = observe(*system, flow.to(t), t).at("distance_P");
  for (const double next : {2000.0, 10'000.0}) {
    const int steps = 1000;
    const double h = (next - t) / steps;
    for (int i = 0; i < steps; ++i) predicted += h * rate(predicted + h / 2 * rate(predicted));
    t = next;
    CHECK(std::abs(c_at(t) / predicted - 1) < 1e-3);
  }
  const double c = c_at(t);
  INFO("c^3 tr / (3 lambda t) = " << std::pow(c, 3) * trace / (3 * l1 * t));
  // c^3 tr/3 - kappa_0/c - lambda t is constant, so the difference from 1 falls as 1/t: 0.042 here.
  CHECK(std::abs(std::pow(c, 3) * trace / (3 * l1 * t) - 1) < 0.05);
  const auto seen = observe(*system, flow.to(t), t);
  CHECK(seen.at("excess_loss") < 1e-4);
  CHECK(seen.at("distance_P") > distance);
  // Rounding removes the effect of the slide.
  CHECK(finals(*system, flow.view(), t).at("distance_P_after") < 1e-2 * seen.at("distance_P"));
}

TEST_CASE("Interrupted runs in stages resume bit for bit", "[fast][scb][stages]") {
  const Problem problem = uneven_problem(4, 12, 2, 1);
  const auto system = make_scb(
      problem, {}, Coordinates::full, start_value(problem, From::stationary),
      two_stages(1e-3, 0.2, {.signal = {}, .time = 1.0, .plateau_time = 0.7, .plateau_fall = 1e3}));
  Workers workers(2);
  const std::vector<double> targets = {0.4, 1.2, 2.8, 4.0};
  for (const int kind : {0, 1, 2, 3}) {
    const auto make = [&](DriverHooks hooks) -> std::unique_ptr<Driver> {
      if (kind == 0) {
        FlowDriver::Options options{.dt = 0.05};
        options.hooks.interrupted = hooks.interrupted;
        return std::make_unique<FlowDriver>(*system, workers, options);
      }
      if (kind == 1)
        return std::make_unique<SgdDriver>(
            *system, workers,
            SgdDriver::Options{.learning_rate = 0.05, .batch_size = 3, .hooks = hooks});
      return std::make_unique<SdeDriver>(
          *system, workers,
          SdeDriver::Options{.learning_rate = 0.05,
                             .dt = 0.05,
                             .noise = kind == 2 ? "batch" : "isotropic",
                             .noise_scale = 0.01,
                             .noise_samples = 3,
                             .hooks = hooks});
    };
    const auto whole = make({});
    for (const double target : targets)
      REQUIRE(whole->advance(target).kind == Outcome::Kind::reached);
    REQUIRE(system->stage(whole->view()) == 3);
    REQUIRE(whole->events().size() >= 2);
    CHECK(whole->time() == Approx(4).epsilon(1e-12));
    const StepStatistics all = whole->statistics();
    if (kind == 1) CHECK(all.samples == 3 * all.accepted);
    CHECK(all.accepted < 45);  // no steps at rest
    for (const int cut : {0, 8, 19, 20, 21, 22, 30, 33, 34}) {
      INFO("driver " << kind << ", cut after " << cut);
      int asked = 0;
      const auto begun = make({[&] { return asked++ == cut; }, {}});
      std::size_t next = 0;
      while (next < targets.size() && begun->advance(targets[next]).kind == Outcome::Kind::reached)
        ++next;
      const ResumePoint point = begun->resume_point();
      const auto resumed = make({});
      resumed->restore(*point.x, *point.regime, point.t, point.data);
      for (; next < targets.size(); ++next)
        REQUIRE(resumed->advance(targets[next]).kind == Outcome::Kind::reached);
      const Eigen::VectorXd a = vector_of(whole->state()), b = vector_of(resumed->state());
      CHECK(same_bits(a, b, a.size()));
      CHECK(resumed->regime() == whole->regime());
      CHECK(resumed->time() == whole->time());
      CHECK(resumed->statistics().accepted == all.accepted);
      REQUIRE(resumed->events().size() == whole->events().size());
      for (std::size_t i = 0; i < whole->events().size(); ++i)
        CHECK(resumed->events()[i].time == whole->events()[i].time);
    }
    // A run resumed at rest stays at rest.
    const ResumePoint point = whole->resume_point();
    const auto resumed = make({});
    resumed->restore(*point.x, *point.regime, point.t, point.data);
    REQUIRE(resumed->advance(6).kind == Outcome::Kind::reached);
    CHECK(resumed->time() == Approx(6).epsilon(1e-12));
    CHECK(resumed->statistics().accepted == all.accepted);
  }
}

TEST_CASE("The defaults of two stages come from the problem's constants", "[fast][scb][stages]") {
  const std::vector<std::string> words = {
      "--schedule", "two-stage",     "--context-length", "400",          "--sparsity",
      "3",          "--coordinates", "support",          "--vocab-size", "6",
      "--dt",       "0.1",           "--accuracy",       "0.02"};
  Workers workers(1);
  const Made made = popflow::test::make_system(popflow::test::parse("scb", words), workers);
  const auto& system = dynamic_cast<const Scb&>(*made.system);
  const SignalConstants s(system.data(), start_value(system.data(), From::stationary));
  const Parameters& own = made.own;
  CHECK(own.real("l1") == Approx(0.02 * s.K_P / (9 * 216)).epsilon(1e-10));
  CHECK(own.real("stage1-signal") == 0.5);
  CHECK_FALSE(own.has("stage1-time"));
  CHECK(own.real("rounding") == Approx(1.0 / 12));
  CHECK(own.real("plateau-time") == Approx(5 / std::sqrt(s.K_P * s.kappa)).epsilon(1e-10));
  const double alpha = std::sqrt(0.5) * std::pow(s.K_P / s.kappa, 0.25);
  CHECK(own.real("threshold") == Approx(alpha / 6).epsilon(1e-10));
  CHECK(system.training().two_stage->plateau_fall ==
        Approx(0.0004 * 0.5 * s.K_P * (s.kappa + 1 / s.T)).epsilon(1e-10));
  // The threshold is half of the least weight at the switch, up to terms of order 1/T and log T/T.
  Flow flow(system, {.dt = 0.1});
  flow.to(200);
  const auto signal = make_scb(system.data(), {}, Coordinates::signal,
                               start_value(system.data(), From::stationary));
  Flow reduced(*signal);
  const double time = flow.event("stage2");
  CHECK(observe(*signal, reduced.to(time), time).at("signal_A") == Approx(alpha).epsilon(0.03));
  CHECK(finals(system, flow.view(), 200).at("columns_below_threshold") == 0);

  // If a time is given there is no default level. Given options are kept.
  const Parameters other = settled({"--schedule", "two-stage", "--stage1-time", "7", "--l1", "0",
                                    "--threshold", "0.1", "--context-length", "50"});
  CHECK_FALSE(other.has("stage1-signal"));
  CHECK(other.real("threshold") == 0.1);
  CHECK(other.real("l1") == 0);
  // A run without stages has none of these options.
  const Parameters plain = settled({"--context-length", "50"});
  for (const char* name : {"stage1-signal", "stage1-time", "threshold", "rounding", "plateau-time"})
    CHECK_FALSE(plain.has(name));
  CHECK(plain.real("l1") == 0);
}

TEST_CASE("A transfer run starts at the signal of its correlation", "[fast][scb][stages]") {
  const Problem problem = uneven_problem(5, 30, 3, 1);
  const Problem before = uneven_problem(5, 40, 2, 2);
  for (const double theta : {0.0, 0.3, 1.0}) {
    const double expected = theta * correlation(before.P, problem);
    const Eigen::MatrixXd V0 =
        theta * before.P + (1 - theta) * start_value(problem, From::stationary);
    const auto system = make_scb(problem, {}, Coordinates::full, V0);
    CHECK(std::abs(observe(*system, start_of(*system)).at("signal_V") - expected) < 1e-14);
  }
  CHECK(correlation(problem.P, problem) == Approx(1).epsilon(1e-13));
  // The prediction of the threshold also holds from this start.
  const Eigen::MatrixXd V0 = 0.7 * problem.P + 0.3 * start_value(problem, From::stationary);
  RunConfig config = popflow::test::parse("scb", {"--schedule", "two-stage", "--l1", "0"});
  const scb::Training training = resolve_training(config.own, problem, {}, V0);
  const auto system = make_scb(problem, {}, Coordinates::support, V0, training);
  Flow flow(*system);
  flow.to(100);
  const double time = flow.event("stage2");
  const auto signal = make_scb(problem, {}, Coordinates::signal, V0);
  Flow reduced(*signal);
  // The threshold is half of the least weight at Q's positions at the switch.
  const double least = (problem.Q.weight.array() > 0).select(problem.Q.weight, 1).minCoeff();
  CHECK(*training.rounding == Approx(least / 4).epsilon(1e-14));
  const double alpha = 2 * training.two_stage->threshold / least;
  CHECK(observe(*signal, reduced.to(time), time).at("signal_A") == Approx(alpha).epsilon(0.05));
}

TEST_CASE("Two stages are refused where they are not defined", "[fast][scb][stages]") {
  CHECK_THAT(refusal({"--attention", "softmax"}),
             Contains("--schedule two-stage") && Contains("--attention linear"));
  CHECK_THAT(refusal({"--coordinates", "signal"}),
             Contains("--schedule two-stage needs --coordinates full or support"));
  CHECK_THAT(refusal({"--project", "none"}),
             Contains("--schedule two-stage needs --project attention"));
  CHECK_THAT(refusal({"--stage1-signal", "0.4", "--stage1-time", "3"}),
             Contains("--stage1-signal 0.4") && Contains("--stage1-time 3") &&
                 Contains("give one of them"));
  for (const char* level : {"0", "1", "-1"})
    CHECK_THAT(refusal({"--stage1-signal", level}), Contains("stage1-signal"));
  for (const char* option : {"--threshold", "--rounding"})
    for (const char* share : {"-0.1", "1.5"})
      CHECK_THAT(refusal({option, share}), Contains(std::string(option).substr(2)));
  CHECK_THAT(refusal({"--sparsity", "7", "--context-length", "7"}), Contains("kappa = 0"));
  CHECK(refusal({"--coordinates", "support"}).empty());
  // The driver refuses a splitting without a step; the message explains the l1 term.
  scb::Training training = two_stages(1e-4, 0.1);
  training.default_l1 = true;
  const Problem problem = small_problem();
  const auto split =
      make_scb(problem, {}, Coordinates::support, start_value(problem, From::stationary), training);
  CHECK_THROWS_WITH(Flow(*split),
                    Contains("--dt") && Contains("l1 = 1e-04") && Contains("--l1 0 turns it off"));
  CHECK_NOTHROW(Flow(*split, {.dt = 0.1}));
  CHECK_NOTHROW(settled({"--schedule", "two-stage", "--mode", "sgd"}));
  CHECK_THROWS_WITH(settled({"--rounding", "0.1", "--attention", "softmax"}),
                    Contains("--rounding is 0.1"));
  CHECK_THROWS_WITH(settled({"--rounding", "0.1", "--coordinates", "signal"}),
                    Contains("signal coordinates"));
}
