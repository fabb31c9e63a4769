#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "lanes/lane_rows.hpp"
#include "support/catch.hpp"
#include "support/markov_fixture.hpp"

// Formulas for many trajectories in lanes, compared with those for one.

using namespace popflow;
using namespace popflow::markov;
using namespace popflow::markov::test;

namespace {

/// Systems and states for all lanes: all chains, with states in every region of the landscape.
struct Filled {
  explicit Filled(bool free) : x(free ? 3 : 2), of(of_rows(free)) {
    std::mt19937 random(11);
    std::normal_distribution<double> normal;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const PQ& pq = kChains[lane % kChains.size()];
      const double e = 1.5 * normal(random);
      const double w = lane == 3 ? 0 : lane == 5 ? 1e-280 : normal(random);
      const Sampling sampling{.context_length = 20};
      systems.emplace_back(free ? new Markov(free_bias(pq, 0.7, 0.4, 0, sampling))
                                : new Markov(optimal(pq, 0.7, 0.4, sampling)));
      std::vector<double> state = {e, w};
      if (free) state.push_back(2 * normal(random));
      states.push_back(state);
      x.write(lane, states.back());
      std::vector<double> parameters(of_rows(free));
      systems.back()->lane_parameters(parameters);
      of.write(lane, parameters);
    }
  }
  static const LaneFormulas& formulas(bool free) {
    return (free ? free_bias({0.2, 0.3}, 1, 1, 0) : optimal({0.2, 0.3}, 1, 1)).lane_formulas();
  }
  static std::size_t of_rows(bool free) { return formulas(free).sizes.parameters; }

  std::vector<std::unique_ptr<const Markov>> systems;
  std::vector<std::vector<double>> states;
  LaneRows x, of;
};

/// Checks equality up to a few roundings of the largest term.
void check_close(double got, double expected, double scale) {
  CHECK(std::abs(got - expected) <= 1e-13 * scale);
}

}  // namespace

TEST_CASE("markov: lanes and single trajectories have the same flow", "[fast][markov][lanes]") {
  for (const bool free : {false, true}) {
    const Filled filled(free);
    const LaneFormulas& formulas = Filled::formulas(free);
    const std::size_t entries = free ? 3 : 2;
    LaneRows flow(entries);
    formulas.flow(formulas.sizes, filled.of.data(), filled.x.data(), flow.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      INFO("lane " << lane << ", free bias: " << free);
      std::vector<double> expected(entries);
      filled.systems[lane]->rhs({filled.states[lane], {}}, 0, expected);
      double scale = 0;
      for (const double entry : expected) scale = std::max(scale, std::abs(entry));
      for (std::size_t i = 0; i < entries; ++i) check_close(flow.at(i, lane), expected[i], scale);
    }
  }
}

TEST_CASE("markov: lanes handle slopes whose exponential overflows", "[fast][markov][lanes]") {
  for (const PQ& of : kChains)
    for (const double w : {0.5, -2.0}) {
      const std::vector<double> state = {60, w};
      const Markov system = optimal(of, 60, w);
      const LaneFormulas& formulas = system.lane_formulas();
      std::vector<double> numbers(formulas.sizes.parameters);
      system.lane_parameters(numbers);
      LaneRows parameters(formulas.sizes.parameters), x(2), flow(2);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        parameters.write(lane, numbers);
        x.write(lane, state);
      }
      formulas.flow(formulas.sizes, parameters.data(), x.data(), flow.data());
      std::vector<double> expected(2);
      system.rhs(state, 0, expected);
      CAPTURE(of.p, of.q, w);
      for (std::size_t i = 0; i < 2; ++i)
        check_close(flow.at(i, 1), expected[i], std::abs(expected[i]));
    }
}

TEST_CASE("markov: lanes are accurate at slopes near the best one and far away",
          "[fast][markov][lanes]") {
  // Checks relative errors of dL/ds, which cancels near the best slope and decays far from it.
  for (const PQ& of : kChains) {
    const Chain chain(of.p, of.q);
    for (const double d : {-600.0, -40.0, -1.0, -1e-3, -1e-9, 1e-9, 1e-3, 1.0, 40.0, 600.0}) {
      const double s = chain.best_slope + d;
      const double e = std::sqrt(std::abs(s));
      const double w = s < 0 ? -1 : 0.0;  // slopes e^2 and -e^2
      const Markov system = optimal(of, 1, 0.4);
      LaneRows parameters(system.lane_formulas().sizes.parameters), x(2), flow(2);
      std::vector<double> numbers(system.lane_formulas().sizes.parameters);
      system.lane_parameters(numbers);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        parameters.write(lane, numbers);
        x.write(lane, std::vector<double>{e, w});
      }
      system.lane_formulas().flow(system.lane_formulas().sizes, parameters.data(), x.data(),
                                  flow.data());
      const Eigen::VectorXd expected = rhs(system, Eigen::Vector2d(e, w));
      INFO("p = " << of.p << ", q = " << of.q << ", slope " << s);
      // Error due to the rounding of the slope.
      const double rounding = 1e-15 * std::max(1.0, std::abs(s)) / std::min(1.0, std::abs(d));
      CHECK(flow.at(0, 7) == Approx(expected[0]).epsilon(std::max(1e-13, 4 * rounding)));
    }
  }
}

TEST_CASE("markov: lanes and single trajectories have the same covariance",
          "[fast][markov][lanes]") {
  for (const bool free : {false, true}) {
    const Filled filled(free);
    const LaneFormulas& formulas = Filled::formulas(free);
    const std::size_t entries = free ? 3 : 2;
    LaneRows flow(entries), again(entries), covariance(entries * (entries + 1) / 2);
    formulas.flow(formulas.sizes, filled.of.data(), filled.x.data(), flow.data());
    formulas.flow_and_covariance(filled.of.data(), filled.x.data(), again.data(),
                                 covariance.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      INFO("lane " << lane << ", free bias: " << free);
      Eigen::MatrixXd expected(entries, entries);
      filled.systems[lane]->covariance({filled.states[lane], {}}, 0, expected);
      const double scale = expected.cwiseAbs().maxCoeff();
      std::size_t row = 0;
      double largest = 0;
      for (std::size_t i = 0; i < entries; ++i)
        largest = std::max(largest, std::abs(flow.at(i, lane)));
      for (std::size_t i = 0; i < entries; ++i) {
        for (std::size_t j = 0; j <= i; ++j)
          check_close(covariance.at(row++, lane),
                      expected(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)), scale);
        check_close(again.at(i, lane), flow.at(i, lane), largest);
      }
    }
  }
}

TEST_CASE("markov: lanes and single trajectories have the same event function",
          "[fast][markov][lanes]") {
  const Filled filled(false);
  LaneRows events(1);
  const LaneFormulas& formulas = Filled::formulas(false);
  formulas.events(formulas.sizes, filled.of.data(), filled.x.data(), events.data());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    double event = 0;
    filled.systems[lane]->event_functions({filled.states[lane], {}}, 0, {&event, 1});
    CHECK(events.at(0, lane) == event);
  }
}

TEST_CASE("markov: a lane does not depend on the other lanes", "[fast][markov][lanes]") {
  for (const bool free : {false, true}) {
    const Filled filled(free);
    const std::size_t entries = free ? 3 : 2;
    LaneRows flow(entries), turned_flow(entries);
    LaneRows noisy(entries), turned_noisy(entries), covariance(6), turned_covariance(6);
    LaneRows x = filled.x, of = filled.of;
    std::vector<double> column(entries), parameters(Filled::of_rows(free));
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t to = (lane + 5) % kLanes;
      filled.x.read(lane, column);
      x.write(to, column);
      filled.of.read(lane, parameters);
      of.write(to, parameters);
    }
    const LaneFormulas& formulas = Filled::formulas(free);
    formulas.flow(formulas.sizes, filled.of.data(), filled.x.data(), flow.data());
    formulas.flow(formulas.sizes, of.data(), x.data(), turned_flow.data());
    formulas.flow_and_covariance(filled.of.data(), filled.x.data(), noisy.data(),
                                 covariance.data());
    formulas.flow_and_covariance(of.data(), x.data(), turned_noisy.data(),
                                 turned_covariance.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t to = (lane + 5) % kLanes;
      for (std::size_t i = 0; i < entries; ++i) {
        CHECK(flow.at(i, lane) == turned_flow.at(i, to));
        CHECK(noisy.at(i, lane) == turned_noisy.at(i, to));
      }
      for (std::size_t i = 0; i < entries * (entries + 1) / 2; ++i)
        CHECK(covariance.at(i, lane) == turned_covariance.at(i, to));
    }
  }
}

TEST_CASE("markov: observables in lanes have the bits of those of single states",
          "[fast][markov][lanes]") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const std::size_t observables = optimal({0.2, 0.3}, 1, 1).info().observables.size();
  for (const PQ& of : kChains) {
    const Markov system = optimal(of, 0.7, 0.4);
    const ObservesInLanes* const in_lanes = observes_in_lanes(system);
    REQUIRE(in_lanes != nullptr);
    const double best = Chain(of.p, of.q).best_slope;
    std::vector<std::vector<double>> states = {
        {0, 0},        {0, 1},      {1, 0},           {1, 1e-280},  {1, -1e-290},
        {1e-160, 0.3}, {1e-200, 2}, {40, 0.5},        {60, -2},     {1e3, 1e3},
        {1e160, 1},    {1e200, -3}, {0.5, 5e-324},    {1e-170, -1}, {0.7, -std::sqrt(0.5)},
        {25, 0.01},    {28, -1},    {std::nan(""), 1}};
    if (best > 0) states.push_back({std::sqrt(best), 0});
    if (best < 0) states.push_back({std::sqrt(-best), -1});
    while (states.size() < 20 * kLanes) {
      const double size = std::pow(10, 2 * normal(random));
      states.push_back({size * normal(random), normal(random)});
    }
    for (std::size_t begin = 0; begin + kLanes <= states.size(); begin += kLanes) {
      LaneRows x(2), t(1), values(observables);
      for (std::size_t lane = 0; lane < kLanes; ++lane) x.write(lane, states[begin + lane]);
      in_lanes->observe_lanes(x.data(), t.data(), values.data());
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::vector<double>& state = states[begin + lane];
        std::vector<double> alone(observables), together(observables);
        system.observe({state, {}}, 0, alone);
        values.read(lane, together);
        CAPTURE(of.p, of.q, state);
        for (std::size_t k = 0; k < observables; ++k) {
          CAPTURE(k, together[k], alone[k]);
          const bool same =
              std::bit_cast<std::uint64_t>(together[k]) == std::bit_cast<std::uint64_t>(alone[k]);
          CHECK((same || (std::isnan(together[k]) && std::isnan(alone[k]))));
        }
      }
    }
  }
  CHECK(observes_in_lanes(free_bias({0.2, 0.3}, 1, 1, 0)) == nullptr);
}
