#include "noise/sde_lanes.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "noise/normals.hpp"
#include "support/catch.hpp"
#include "support/clock_system.hpp"
#include "support/markov_fixture.hpp"
#include "support/monte_carlo.hpp"

// Noisy runs in SIMD lanes, compared with single runs and with the driver for any system.

using namespace popflow;
using namespace popflow::markov::test;

namespace {

std::vector<double> numbers(const Driver& driver) {
  return {driver.state().begin(), driver.state().end()};
}

SdeDriver::Options options_with(double eta, double dt) {
  SdeDriver::Options options;
  options.learning_rate = eta;
  options.batch_size = 8;
  options.dt = dt;
  options.seed = 5;
  return options;
}

std::vector<std::unique_ptr<Driver>> lanes(const System& system, const SdeDriver::Options& options,
                                           const std::vector<std::uint32_t>& runs) {
  return noisy_lanes(system, options, runs, std::vector<DriverHooks>(runs.size()));
}

markov::Markov markov_system(const PQ& of, bool free, double e0, double w0) {
  const markov::Sampling sampling{.context_length = 30};
  return free ? free_bias(of, e0, w0, 0.2, sampling) : optimal(of, e0, w0, sampling);
}

std::vector<std::uint32_t> first_runs(std::size_t count) {
  std::vector<std::uint32_t> runs(count);
  std::iota(runs.begin(), runs.end(), 0);
  return runs;
}

}  // namespace

TEST_CASE("normals for lanes equal those of single runs with every instruction set",
          "[fast][noise][lanes]") {
  std::array<std::uint64_t, kLanes> runs{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) runs[lane] = 1 + lane * 0x0fff'ffff;
  const std::uint64_t number = 0x0070'7385'a308'd3u;
  for (const InstructionSet version : kAllInstructionSets) {
    double got[8 * kLanes];
    write_lane_normals(9, Purpose::noise, runs, number, 8, got, version);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      double expected[8];
      NormalPart(9, static_cast<std::uint32_t>(runs[lane]), number).write(0, expected);
      for (std::size_t j = 0; j < 8; ++j) CHECK(got[j * kLanes + lane] == expected[j]);
    }
  }
}

TEST_CASE("a run has the same bits alone and in lanes with others", "[fast][noise][lanes]") {
  const bool free = GENERATE(false, true);
  const markov::Markov system = markov_system({0.2, 0.3}, free, 0.6, 0.4);
  const SdeDriver::Options options = options_with(0.05, 0.01);
  const auto together = lanes(system, options, first_runs(kLanes));
  for (const double t : {1.0, 2.0, 20.0})
    for (const auto& driver : together) CHECK(driver->advance(t).kind == Outcome::Kind::reached);
  for (const std::uint32_t run : {0u, 3u, 15u}) {
    const auto alone = lanes(system, options, {run});
    for (const double t : {1.0, 2.0, 20.0}) alone[0]->advance(t);
    CHECK(numbers(*alone[0]) == numbers(*together[run]));
    CHECK(alone[0]->resume_point().data.values() == together[run]->resume_point().data.values());
  }
  CHECK(numbers(*together[0]) != numbers(*together[1]));
}

TEST_CASE("lanes follow the general driver's path", "[fast][noise][lanes]") {
  const bool free = GENERATE(false, true);
  const markov::Markov system = markov_system({0.7, 0.8}, free, 0.6, -1.1);
  SdeDriver::Options options = options_with(0.05, 0.01);
  REQUIRE(has_noisy_lanes(system, options));
  const auto together = lanes(system, options, first_runs(5));
  for (const auto& driver : together) driver->advance(20);
  for (std::uint32_t run = 0; run < 5; ++run) {
    options.run = run;
    SdeDriver alone(system, pool(), options);
    alone.advance(20);
    for (std::size_t i = 0; i < system.shape().state_size(); ++i)
      CHECK(together[run]->state()[i] == Approx(alone.state()[i]).epsilon(1e-10));
    REQUIRE(together[run]->events().size() == alone.events().size());
    for (std::size_t event = 0; event < alone.events().size(); ++event)
      CHECK(together[run]->events()[event].time == alone.events()[event].time);
    CHECK(together[run]->statistics().accepted == alone.statistics().accepted);
    CHECK(together[run]->interval().number == alone.interval().number);
    CHECK(together[run]->interval().largest == alone.interval().largest);
    CHECK(together[run]->resume_point().data.layout() == alone.resume_point().data.layout());
  }
}

TEST_CASE("a step in lanes has the flow as mean and a batch's covariance", "[fast][noise][lanes]") {
  // 16 000 runs of one step. First moments, and second ones along six directions, lie within 5
  // standard errors. With another seed one of the 16 numbers fails with probability 1e-5.
  constexpr double h = 0.02, eta = 0.05;
  for (const bool free : {false, true}) {
    const markov::Markov system = markov_system({0.2, 0.3}, free, 0.9, -0.4);
    const auto size = static_cast<Eigen::Index>(system.shape().state_size());
    SdeDriver::Options options = options_with(eta, h);
    Eigen::VectorXd start(size);
    system.start({start.data(), static_cast<std::size_t>(size)});
    const Eigen::VectorXd mean = h * rhs(system, start);
    Eigen::MatrixXd covariance(size, size);
    system.covariance(numbers_of(start), 0, covariance);
    covariance *= eta / static_cast<double>(options.batch_size) * h;
    Eigen::MatrixXd directions(3, 6);
    directions << 1, 0, 0, 1, 0, 1, 0, 1, 0, -1, 1, 0, 0, 0, 1, 0, 1, 1;
    const Eigen::MatrixXd along = directions.topRows(size);
    test::SampleMean first(size), second(6);
    for (std::uint32_t run = 0; run < 16'000; run += kLanes) {
      std::vector<std::uint32_t> runs = first_runs(kLanes);
      for (std::uint32_t& number : runs) number += run;
      for (const auto& driver : lanes(system, options, runs)) {
        REQUIRE(driver->advance(h).kind == Outcome::Kind::reached);
        const Eigen::VectorXd moved =
            Eigen::Map<const Eigen::VectorXd>(driver->state().data(), size) - start - mean;
        first.add(moved);
        second.add((along.transpose() * moved).array().square().matrix());
      }
    }
    const Eigen::VectorXd exact = (along.transpose() * covariance * along).diagonal();
    INFO("free bias: " << free);
    CHECK(first.worst_z(Eigen::VectorXd::Zero(size)) < 5);
    CHECK(second.worst_z(exact) < 5);
    CHECK(second.standard_error().cwiseQuotient(exact).maxCoeff() < 0.02);
  }
}

TEST_CASE("a diverging run does not change its neighbours in lanes", "[fast][noise][lanes]") {
  // At this learning rate noise makes some runs diverge, at different times.
  const markov::Markov system = optimal({0.2, 0.3}, 2, 1, {.context_length = 10});
  SdeDriver::Options options = options_with(30, 0.2);
  const auto together = lanes(system, options, first_runs(kLanes));
  std::size_t diverged = 0;
  for (const auto& driver : together)
    if (driver->advance(40).kind == Outcome::Kind::diverged) ++diverged;
  CHECK(diverged > 0);
  CHECK(diverged < kLanes);
  for (std::uint32_t run = 0; run < kLanes; ++run) {
    const auto alone = lanes(system, options, {run});
    const Outcome outcome = alone[0]->advance(40);
    CHECK(outcome.kind == together[run]->advance(40).kind);
    CHECK(outcome.message == together[run]->advance(40).message);
    CHECK(alone[0]->time() == together[run]->time());
    CHECK(numbers(*alone[0]) == numbers(*together[run]));
    CHECK(alone[0]->statistics().accepted == together[run]->statistics().accepted);
  }
}

TEST_CASE("runs in lanes resume bit for bit", "[fast][noise][lanes]") {
  const markov::Markov system = optimal({0.2, 0.3}, 0.6, 0.4, {.context_length = 30});
  const SdeDriver::Options options = options_with(0.05, 0.01);
  const auto whole = lanes(system, options, first_runs(4));
  for (const double t : {5.0, 10.0})
    for (const auto& driver : whole) driver->advance(t);

  // Interrupt within the second interval.
  const auto begun = lanes(system, options, first_runs(4));
  for (const auto& driver : begun) driver->advance(5);
  std::vector<DriverHooks> hooks(4);
  int asked = 0;
  hooks[2].interrupted = [&] { return ++asked > 3; };
  const auto stopped = noisy_lanes(system, options, first_runs(4), hooks);
  for (std::size_t run = 0; run < 4; ++run) {
    const ResumePoint point = begun[run]->resume_point();
    stopped[run]->restore(*point.x, *point.regime, point.t, point.data);
  }
  for (const auto& driver : stopped) CHECK(driver->advance(10).kind == Outcome::Kind::interrupted);
  CHECK(stopped[0]->time() > 5);
  CHECK(stopped[0]->time() < 10);

  const auto resumed = lanes(system, options, first_runs(4));
  for (std::size_t run = 0; run < 4; ++run) {
    const ResumePoint point = stopped[run]->resume_point();
    resumed[run]->restore(*point.x, *point.regime, point.t, point.data);
  }
  for (std::size_t run = 0; run < 4; ++run) {
    resumed[run]->advance(10);
    CHECK(numbers(*resumed[run]) == numbers(*whole[run]));
    CHECK(resumed[run]->resume_point().data.values() == whole[run]->resume_point().data.values());
  }
  // Runs at different times cannot share lanes.
  const auto apart = lanes(system, options, first_runs(2));
  const ResumePoint here = stopped[0]->resume_point(), there = begun[1]->resume_point();
  apart[0]->restore(*here.x, *here.regime, here.t, here.data);
  CHECK_THROWS_AS(apart[1]->restore(*there.x, *there.regime, there.t, there.data),
                  std::invalid_argument);
}

TEST_CASE("lanes are refused for runs that they do not support", "[fast][noise][lanes]") {
  const markov::Markov system = optimal({0.2, 0.3}, 0.6, 0.4);
  SdeDriver::Options options;
  CHECK(has_noisy_lanes(system, options));
  CHECK(has_noisy_lanes(free_bias({0.2, 0.3}, 0.6, 0.4, 0), options));
  options.noise = "isotropic";
  CHECK_FALSE(has_noisy_lanes(system, options));
  options = {};
  options.modified_equation = 2;
  CHECK_FALSE(has_noisy_lanes(system, options));
  options = {};
  options.coarsen = 2;
  CHECK_FALSE(has_noisy_lanes(system, options));
}

TEST_CASE("in noisy lanes, functions must be negative before they cross zero upwards",
          "[fast][noise][lanes]") {
  const popflow::test::Clock clock(false);
  const SdeDriver::Options options = options_with(0.05, 0.01);
  REQUIRE(has_noisy_lanes(clock, options));
  const auto drivers = lanes(clock, options, first_runs(2));
  SdeDriver alone(clock, pool(), options);
  for (const double target : {0.2, 0.4, 0.6, 1.0}) {
    for (const auto& driver : drivers) driver->advance(target);
    alone.advance(target);
  }
  for (const Driver* driver : {drivers[0].get(), drivers[1].get(), static_cast<Driver*>(&alone)}) {
    const auto& events = driver->events();
    REQUIRE(events.size() == 5);
    for (const FoundEvent& event : events)
      CHECK(event.time == Approx(clock.kCrossings[event.event]).margin(0.0051));
  }
}
