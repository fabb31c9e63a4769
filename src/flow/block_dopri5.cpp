#include "flow/block_dopri5.hpp"

#include <algorithm>
#include <cmath>

#include "flow/step_length.hpp"
#include "popflow/system.hpp"

namespace popflow {

Reach reach(const EventWatch& events) { return events.watching() ? Reach{3, 6} : Reach{64, 256}; }

namespace {
// With fewer entries than this, a joint step costs hardly more than a step of one block.
constexpr std::size_t kFewEntries = 64;
// Most steps of a block in an attempt. The limit is high: a block in which an entry jumps takes
// hundreds of steps, and an attempt that fails repeats the steps of all blocks.
constexpr int kMostSteps = 1 << 14;
}  // namespace

bool BlockDopri5::suits(const System& system) {
  const Capabilities can = system.capabilities();
  const Shape& shape = system.shape();
  return can.separable && !can.switching && !can.proximal && shape.blocks.size() == 1 &&
         shape.state_size() > std::max(kFewEntries, can.separable->part_size());
}

Trial BlockDopri5::attempt(const State& x, double t, double h, State& x_new) {
  const Reach far = reach(events_);
  const int most = events_.watching() ? far.most : kMostSteps;
  const BlockSteps::Stretch stretch = blocks_.follow(x, t, h, {most}, x_new);
  most_steps_ = stretch.most_steps;
  if (std::isfinite(stretch.covered)) {  // stopped before the end
    // Distance by which `t` really advances, after rounding.
    const double way = h < smallest_step(t) ? stretch.covered : t + stretch.covered - t;
    return {false, stretch.finite, std::max(0.1 * h, 0.8 * way)};
  }
  return {true, true, far.aim * stretch.next};
}

}  // namespace popflow
