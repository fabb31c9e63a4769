// Estimates from the pace of the steps whether a flow can reach its end.

#include <functional>

#include "flow/pace.hpp"
#include "support/catch.hpp"

namespace popflow {
namespace {

constexpr std::int64_t kDefault = 100'000'000;

/// Returns the number of the step (at most `most`) after which the end counts as out of reach; 0 if
/// there is none.
std::int64_t out_of_reach_after(std::int64_t most, double end,
                                const std::function<double(double)>& step,
                                std::int64_t max_steps = kDefault) {
  Pace pace;
  double t = 0;
  for (std::int64_t i = 1; i <= most && t < end; ++i) {
    t += step(t);
    pace.update(i, t);
    if (pace.out_of_reach(i, end, max_steps)) return i;
  }
  return 0;
}

TEST_CASE("a flow whose end is out of reach is found after 100000 steps", "[flow][fast]") {
  CHECK(out_of_reach_after(1'000'000, 1, [](double) { return 1e-12; }) == 100'000);
  CHECK(out_of_reach_after(1'000'000, 40, [](double) { return 2e-81; }) == 100'000);
  CHECK(out_of_reach_after(1'000'000, 1, [](double) { return 1e-7; }) == 0);
  // A limit above the default applies as given.
  CHECK(out_of_reach_after(1'000'000, 1, [](double) { return 1e-9; }) == 100'000);
  CHECK(out_of_reach_after(
            1'000'000, 1, [](double) { return 1e-9; }, 2'000'000'000) == 0);
}

TEST_CASE("a flow whose steps become longer does not count as out of reach", "[flow][fast]") {
  // Time grows from 1e-60 to 1 in 700 000 steps.
  CHECK(out_of_reach_after(2'000'000, 1, [](double t) { return 1e-60 + 2e-4 * t; }) == 0);
  // In a stiff phase of 60 000 steps the end seems out of reach.
  CHECK(out_of_reach_after(2'000'000, 1e6, [](double t) { return t < 6e-5 ? 1e-9 : 10; }) == 0);
}

TEST_CASE("a checkpoint stores the pace", "[flow][fast]") {
  Pace whole;
  Pace before;
  for (std::int64_t i = 1; i <= 50'000; ++i) {
    whole.update(i, 1e-9 * static_cast<double>(i));
    before.update(i, 1e-9 * static_cast<double>(i));
  }
  DriverData data;
  before.remember(data);
  Pace after;
  after.restore(data);
  for (std::int64_t i = 50'001; i <= 100'000; ++i) {
    whole.update(i, 1e-9 * static_cast<double>(i));
    after.update(i, 1e-9 * static_cast<double>(i));
  }
  CHECK(whole.out_of_reach(100'000, 1, kDefault));
  CHECK(after.out_of_reach(100'000, 1, kDefault));
  CHECK(whole.sentence(1) == after.sentence(1));
  CHECK(whole.sentence(1) ==
        "at the pace of the last 100000 steps the end is about 1e+09 steps away");
}

}  // namespace
}  // namespace popflow
