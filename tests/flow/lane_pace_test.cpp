#include "flow/lane_pace.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "flow/step_length.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"

// Times and lengths of the steps in all lanes at once, against one flow's after another.

using namespace popflow;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// What FlowDriver does after a step.
struct OneFlow {
  LanePace::Flow flow;
  double h = 0;
  double before = 0;  ///< the time at which the last step began
  bool called = false;

  void begin(const LanePace::Flow& with) {
    flow = with;
    h = step_within(flow.length, flow.target - flow.t - flow.beside);
  }
  void judge(double error, double factor, bool seen) {
    --flow.steps_left;
    before = flow.t + flow.beside;
    flow.finite = std::isfinite(error);
    const bool taken = error <= 1;
    if (taken) {
      IntervalSteps& interval = flow.interval;
      ++flow.accepted;
      ++interval.number;
      interval.smallest = std::fmin(interval.smallest, h);
      interval.largest = std::fmax(interval.largest, h);
      const double next = flow.retry ? std::min(h * factor, h) : h * factor;
      flow.length = next_length(flow.length, h, next);
      const bool ends = h == flow.target - flow.t - flow.beside;
      flow.beside += h;
      if (ends) {
        flow.t = flow.target;
        flow.beside = 0;
      } else if (!flow.jumps || flow.beside >= smallest_step(flow.t)) {
        flow.t += flow.beside;
        flow.beside = 0;
      }
    } else {
      ++flow.rejected;
      flow.length = flow.finite ? std::min(h * factor, h) : kAfterNonFinite * h;
    }
    flow.retry = !taken;
    called = (taken && seen) || flow.t >= flow.target || !flow.finite || !may_go_on();
    h = step_within(flow.length, flow.target - flow.t - flow.beside);
  }
  [[nodiscard]] bool may_go_on() const {
    return flow.steps_left > 0 &&
           flow.length >= smallest_step(flow.t) * (flow.jumps ? kWithinRounding : 1);
  }
};

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same(const LanePace::Flow& a, const LanePace::Flow& b) {
  const auto alike = [](double x, double y) { return same(x, y) || (x != x && y != y); };
  return same(a.t, b.t) && same(a.beside, b.beside) && a.jumps == b.jumps &&
         same(a.target, b.target) && same(a.length, b.length) && a.retry == b.retry &&
         a.finite == b.finite && a.steps_left == b.steps_left && a.accepted == b.accepted &&
         a.rejected == b.rejected && a.interval.number == b.interval.number &&
         alike(a.interval.smallest, b.interval.smallest) &&
         alike(a.interval.largest, b.interval.largest);
}

}  // namespace

TEST_CASE("steps in lanes are as long as each flow's alone, and call when it must be looked at",
          "[fast][flow][lanes]") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto one_of = [&](double share) { return uniform(random) < share; };
  const auto new_flow = [&] {
    const double t = one_of(0.5) ? 0 : 100 * uniform(random);
    const bool jumps = one_of(0.5);
    const double shortest = smallest_step(t, jumps);
    return LanePace::Flow{.t = t,
                          .target = t + std::exp(3 * uniform(random)),
                          // Now and then as short as they may be, and a bit less.
                          .length = one_of(0.1)            ? 1.5 * shortest
                                    : jumps && one_of(0.6) ? 0.3 * smallest_step(t)
                                                           : std::exp(4 * uniform(random) - 4),
                          .retry = one_of(0.3),
                          .finite = one_of(0.9),
                          .jumps = jumps,
                          .steps_left = 1 + static_cast<std::int64_t>(200 * uniform(random)),
                          .interval = {3, one_of(0.5) ? kNone : 0.01, one_of(0.5) ? kNone : 0.3}};
  };
  LanePace pace;
  LaneRows error(1), factor(1), seen(1), h(1);
  OneFlow flows[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    flows[lane].begin(new_flow());
    pace.begin(lane, flows[lane].flow, h);
  }
  constexpr std::size_t kIdle = 5;
  pace.idle(kIdle, h);
  int calls = 0, arrived = 0, stuck = 0, within = 0;
  for (int step = 0; step < 20000; ++step) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const bool finite = one_of(0.98);
      error.at(0, lane) = finite        ? std::exp(3 * uniform(random) - 2.5)
                          : one_of(0.5) ? kNone
                                        : std::numeric_limits<double>::infinity();
      factor.at(0, lane) = step_factor(finite ? error.at(0, lane) : 1, 5);
      seen.at(0, lane) = one_of(0.02) ? 1 : 0;
      // What is left, but for rounding: the next step is to hit the target.
      const LanePace::Flow& at = flows[lane].flow;
      const double left = at.target - at.t - at.beside - flows[lane].h;
      if (one_of(0.05) && left > 0) factor.at(0, lane) = left / flows[lane].h * (1 - 1e-11);
    }
    const bool called = pace.judge(error, factor, seen, h);
    bool any = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (lane == kIdle) continue;
      OneFlow& one = flows[lane];
      one.judge(error.at(0, lane), factor.at(0, lane), seen.at(0, lane) != 0);
      any = any || one.called;
      INFO("step " << step << ", lane " << lane);
      REQUIRE(same(pace.flow(lane), one.flow));
      REQUIRE(same(h.at(0, lane), one.h));
      REQUIRE((pace.at(LanePace::calls, lane) != 0) == one.called);
      REQUIRE((pace.at(LanePace::taken, lane) != 0) == !one.flow.retry);
      REQUIRE(pace.at(LanePace::t_before, lane) == one.before);
      REQUIRE(pace.now(lane) == one.flow.t + one.flow.beside);
      within += one.flow.beside > 0 ? 1 : 0;
      const bool over = one.flow.t >= one.flow.target;
      REQUIRE(pace.may_go_on(lane) == one.may_go_on());
      if (!over && one.may_go_on()) continue;
      (over ? arrived : stuck) += 1;
      one.begin(new_flow());
      pace.begin(lane, one.flow, h);
    }
    REQUIRE(called == any);
    REQUIRE(h.at(0, kIdle) == 0);
    REQUIRE(pace.at(LanePace::calls, kIdle) == 0);
    REQUIRE(pace.at(LanePace::taken, kIdle) == 0);
    calls += called ? 1 : 0;
  }
  CHECK(calls > 1000);
  CHECK(calls < 19000);
  CHECK(arrived > 1000);
  CHECK(stuck > 1000);
  CHECK(within > 1000);
}

TEST_CASE("what has been reached is seen in rows that are watched alone", "[fast][flow][lanes]") {
  LaneRows watched(2), values(2), reached(1);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    watched.at(0, lane) = lane % 2 == 0 ? 1 : 0;
    watched.at(1, lane) = lane % 3 == 0 ? 1 : 0;
    values.at(0, lane) = lane % 4 == 0 ? 0 : -1;
    values.at(1, lane) = lane == 9 ? kNone : 1;
  }
  reached.at(0, 1) = 1;
  add_reached(2, watched, values, reached);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    INFO("lane " << lane);
    const bool first = lane % 4 == 0, second = lane % 3 == 0 && lane != 9;
    CHECK((reached.at(0, lane) != 0) == (first || second || lane == 1));
  }
}
