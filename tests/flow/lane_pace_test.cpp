#include "flow/lane_pace.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "flow/step_length.hpp"
#include "popflow/flow_driver.hpp"
#include "steppers/stepper.hpp"
#include "support/catch.hpp"
#include "support/toy_systems.hpp"

// Times and step sizes in all lanes at once, compared with FlowDriver's for single flows.

using namespace popflow;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }
bool alike(double a, double b) { return same(a, b) || (a != a && b != b); }

/// Returns whether two numbers have the same bits; all NaNs are equal.
bool same(const StepControl<double>& a, const StepControl<double>& b) {
  return same(a.at.t, b.at.t) && same(a.at.remainder, b.at.remainder) && a.jumps == b.jumps &&
         same(a.length, b.length) && same(a.bounds.longest, b.bounds.longest) &&
         same(a.bounds.cautious_since, b.bounds.cautious_since) && a.retry == b.retry &&
         a.finite == b.finite;
}
bool same(const LanePace::Flow& a, const LanePace::Flow& b) {
  return same(a.control, b.control) && same(a.target, b.target) && a.steps_left == b.steps_left &&
         a.accepted == b.accepted && a.rejected == b.rejected &&
         a.interval.number == b.interval.number &&
         alike(a.interval.smallest, b.interval.smallest) &&
         alike(a.interval.largest, b.interval.largest);
}

/// Returns a driver's data with other numbers under one name.
DriverData replaced(const DriverData& data, const std::string& name, std::vector<double> numbers) {
  std::vector<double> values = data.values();
  std::istringstream layout(data.layout());
  std::size_t begin = 0;
  for (std::string entry; layout >> entry;) {
    const std::size_t colon = entry.rfind(':');
    if (entry.substr(0, colon) == name)
      std::copy(numbers.begin(), numbers.end(),
                values.begin() + static_cast<std::ptrdiff_t>(begin));
    begin += std::stoul(entry.substr(colon + 1));
  }
  return data.with(std::move(values));
}

/// Gives access to the driver's data after its last step. resume_point() has those before the first
/// step that the end has shortened.
template <DriverData (FlowDriver::*data)() const>
struct Access {
  friend DriverData data_now(const FlowDriver& driver) { return (driver.*data)(); }
};
template struct Access<&FlowDriver::data>;
DriverData data_now(const FlowDriver& driver);

/// FlowDriver's own dopri5 steps with prescribed errors. The first entry's slope is nonzero in the
/// sixth stage only, so that the error is a single product. The second entry's slope is nonzero in
/// the second stage only. This stage has weight zero in the solution and in the error, so the third
/// stage's state shows the step size.
class DrivenFlow {
 public:
  /// State before a trial step.
  struct Trial {
    LanePace::Flow flow;
    double h = 0;     ///< step size computed from `flow`
    double told = 0;  ///< 9/40 of the step size, as the third stage shows it
    double error = 0;
  };
  /// Returns the error of a step of this size at this distance from the target.
  using Errors = std::function<double(double h, double left)>;

  DrivenFlow(const LanePace::Flow& from, Errors errors) : from_(from), errors_(std::move(errors)) {
    popflow::test::Toy toy;
    toy.start = {0, 0};
    toy.jumps = from.control.jumps;
    toy.rhs = [this](StateView x, double, std::span<double> out) { slope(x, out); };
    const popflow::test::ToySystem system(std::move(toy));
    Workers workers(1);
    FlowDriver::Options options;
    options.rtol = 0;
    options.atol = 1;
    options.max_step = from.control.bounds.longest;
    options.max_steps = from.steps_left;
    FlowDriver driver(system, workers, std::move(options));
    driver_ = &driver;
    DriverData data = driver.resume_point().data;
    data = replaced(data, "dt", {from.control.length});
    data = replaced(data, "cautious_since", {from.control.bounds.cautious_since});
    if (from.control.jumps) data = replaced(data, "beside_t", {from.control.at.remainder});
    data = replaced(data, "inside_interval", {1});
    data = replaced(
        data, "interval",
        {static_cast<double>(from.interval.number), from.interval.smallest, from.interval.largest});
    driver.restore(driver.state(), {}, from.control.at.t, data);
    reached = driver.advance(from.target).kind == Outcome::Kind::reached;
    // A driver that gives up evaluates more slopes for its message; these are no trials.
    trials.resize(
        static_cast<std::size_t>(driver.statistics().accepted + driver.statistics().rejected));
    end = now();
  }
  DrivenFlow(const DrivenFlow&) = delete;
  DrivenFlow& operator=(const DrivenFlow&) = delete;

  std::vector<Trial> trials;
  LanePace::Flow end;
  bool reached = false;

 private:
  [[nodiscard]] LanePace::Flow now() const {
    const DriverData data = data_now(*driver_);
    LanePace::Flow flow = from_;
    flow.control.at.t = driver_->time();
    flow.control.at.remainder = from_.control.jumps ? data.number("beside_t") : 0;
    flow.control.length = data.number("dt");
    flow.control.bounds.cautious_since = data.number("cautious_since");
    flow.interval = driver_->interval();
    flow.accepted = driver_->statistics().accepted;
    flow.rejected = driver_->statistics().rejected;
    flow.steps_left = from_.steps_left - flow.accepted - flow.rejected;
    if (!trials.empty()) {
      flow.control.retry = flow.rejected > trials.back().flow.rejected;
      flow.control.finite = std::isfinite(trials.back().error);
    }
    return flow;
  }

  void slope(StateView x, std::span<double> out) {
    out[0] = out[1] = 0;
    // the driver checks whether the slope at the beginning of a non-finite step is finite
    if (asked_again_) {
      asked_again_ = false;
      return;
    }
    if (stage_ == 1) {
      out[1] = 1;
    } else if (stage_ == 2) {
      told_ = x[1];
    } else if (stage_ == 5) {
      const LanePace::Flow flow = now();
      const double left = flow.target - flow.control.at.t - flow.control.at.remainder;
      const double h = step_within(flow.control.bounds.within_longest(flow.control.length), left);
      // Difference of the weights of both solutions, subtracted in odeint's order.
      const double weight = h * (11.0 / 84 - 187.0 / 2100);
      out[0] = errors_(h, left) / weight;
      const double error = std::abs(weight * out[0]);
      asked_again_ = !std::isfinite(error) && flow.control.finite;
      pending_ = {flow, h, told_, error};
    } else if (stage_ == 6) {
      trials.push_back(pending_);
      stage_ = 0;  // the last slope is also the first of the next step
    }
    ++stage_;
  }

  const LanePace::Flow from_;
  const Errors errors_;
  const FlowDriver* driver_ = nullptr;
  int stage_ = 0;
  bool asked_again_ = false;
  double told_ = 0;
  Trial pending_;
};

}  // namespace

TEST_CASE("steps in lanes have FlowDriver's step sizes, and report when a flow must be examined",
          "[fast][flow][lanes]") {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto one_of = [&](double share) { return uniform(random) < share; };
  const auto new_flow = [&] {
    const double t = one_of(0.5) ? 0 : 100 * uniform(random);
    const bool jumps = one_of(0.5);
    const double shortest = smallest_step(t, jumps);
    StepBounds<double> bounds;
    if (one_of(0.2)) bounds.longest = std::exp(3 * uniform(random) - 4);
    if (one_of(0.2)) bounds.cautious_since = t * uniform(random);
    // Some targets lie within the rounding of the time.
    const bool near = jumps && t > 0 && one_of(0.1);
    const double way = near ? 0.5 * smallest_step(t) : std::exp(3 * uniform(random));
    // Some step sizes are near the smallest allowed one, and some are below it.
    const double length = one_of(0.1)            ? (one_of(0.9) ? 1.5 : 0.9) * shortest
                          : jumps && one_of(0.6) ? 0.3 * smallest_step(t)
                                                 : std::exp(4 * uniform(random) - 4);
    return LanePace::Flow{.control = {.at = {t, 0},
                                      .length = length,
                                      .bounds = bounds,
                                      .jumps = jumps,
                                      .finite = true},
                          .target = t + way,
                          .steps_left = 1 + static_cast<std::int64_t>(200 * uniform(random)),
                          .interval = {3, one_of(0.5) ? kNone : 0.01, one_of(0.5) ? kNone : 0.3}};
  };
  const auto error_of = [&](double h, double left) {
    if (one_of(0.02)) return one_of(0.5) ? kNone : std::numeric_limits<double>::infinity();
    // This error makes the next step size equal to the rest of the way, up to rounding.
    const double aimed = std::pow(0.9 * h / ((left - h) * (1 - 1e-11)), 5);
    if (one_of(0.05) && left > h && aimed <= 1) return aimed;
    if (one_of(0.02)) return 0.0;
    // Some errors lie far outside the range in which the step factor is not clamped.
    return std::exp(one_of(0.1) ? 40 * uniform(random) - 20 : 3 * uniform(random) - 2.5);
  };
  LanePace pace;
  LaneRows error(1), factor(1), seen(1), h(1);
  std::unique_ptr<DrivenFlow> flows[kLanes];
  std::size_t trial[kLanes];
  int over = 0, arrived = 0, too_many = 0, too_short = 0;
  const auto begin = [&](std::size_t lane) {
    trial[lane] = 0;
    for (;;) {
      const LanePace::Flow flow = new_flow();
      flows[lane] = std::make_unique<DrivenFlow>(flow, error_of);
      pace.begin(lane, flow, h);
      const bool goes_on = !flows[lane]->trials.empty();
      REQUIRE(pace.can_step(lane) == goes_on);
      if (goes_on) return;
      ++too_short;
    }
  };
  for (std::size_t lane = 0; lane < kLanes; ++lane) begin(lane);
  constexpr std::size_t kIdle = 5;
  pace.idle(kIdle, h);
  int calls = 0, within = 0, cut = 0, not_finite = 0, again = 0, hit = 0;
  int bounded = 0, careful = 0;
  constexpr int kSteps = 6000;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const DrivenFlow::Trial& now = flows[lane]->trials[trial[lane]];
      error.at(0, lane) = now.error;
      factor.at(0, lane) = step_factor(std::isfinite(now.error) ? now.error : 1, 5);
      seen.at(0, lane) = one_of(0.02) ? 1 : 0;
      if (lane == kIdle) continue;
      INFO("step " << step << ", lane " << lane);
      REQUIRE(same(h.at(0, lane), now.h));
      REQUIRE(same(h.at(0, lane) * (9.0 / 40), now.told));
    }
    const bool called = pace.judge(error, factor, seen, h);
    bool any = false;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (lane == kIdle) continue;
      const DrivenFlow& one = *flows[lane];
      const DrivenFlow::Trial& before = one.trials[trial[lane]];
      const bool last = ++trial[lane] == one.trials.size();
      const LanePace::Flow& after = last ? one.end : one.trials[trial[lane]].flow;
      const bool taken = after.accepted > before.flow.accepted;
      const bool looked_at =
          (taken && seen.at(0, lane) != 0) || !std::isfinite(before.error) || last;
      any = any || looked_at;
      INFO("step " << step << ", lane " << lane);
      REQUIRE(same(pace.flow(lane), after));
      REQUIRE((pace.at(LanePace::examine, lane) != 0) == looked_at);
      REQUIRE((pace.at(LanePace::taken, lane) != 0) == taken);
      REQUIRE(same(pace.at(LanePace::step, lane), before.h));
      REQUIRE(pace.at(LanePace::t_before, lane) ==
              before.flow.control.at.t + before.flow.control.at.remainder);
      REQUIRE(pace.now(lane) == after.control.at.t + after.control.at.remainder);
      within += after.control.at.remainder > 0 ? 1 : 0;
      cut += before.h < before.flow.control.length ? 1 : 0;
      bounded += before.h == before.flow.control.bounds.longest ? 1 : 0;
      const double share =
          StepBounds<double>::kShare * (after.control.at.t - after.control.bounds.cautious_since);
      careful += taken && after.control.length == share ? 1 : 0;
      not_finite += std::isfinite(before.error) ? 0 : 1;
      again += before.flow.control.retry && taken ? 1 : 0;
      if (!last) {
        REQUIRE(pace.can_step(lane));
        continue;
      }
      ++over;
      if (one.reached) {
        ++arrived;
        hit += before.h > before.flow.control.length ? 1 : 0;
      } else {
        REQUIRE(!pace.can_step(lane));
        (after.steps_left < 1 ? too_many : too_short) += 1;
      }
      begin(lane);
    }
    REQUIRE(called == any);
    REQUIRE(h.at(0, kIdle) == 0);
    REQUIRE(pace.at(LanePace::examine, kIdle) == 0);
    REQUIRE(pace.at(LanePace::taken, kIdle) == 0);
    calls += called ? 1 : 0;
  }
  CAPTURE(calls, over, arrived, too_many, too_short, within, cut, not_finite, again, hit, bounded,
          careful);
  CHECK(calls > kSteps / 20);
  CHECK(calls < kSteps * 19 / 20);
  for (const int number : {arrived, too_many, within, cut, not_finite, again, bounded, careful})
    CHECK(number > 500);
  CHECK(too_short > 50);
  CHECK(hit > 20);
}

TEST_CASE("passages are detected in watched rows only", "[fast][flow][lanes]") {
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
