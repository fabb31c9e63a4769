#include "flow/block_dopri5.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "flow/dopri5_rows.hpp"
#include "flow/step_length.hpp"
#include "popflow/system.hpp"
#include "popflow/widest.hpp"
#include "steppers/extension.hpp"

namespace popflow {

namespace {

using dopri5::kErrorOrder;
using dopri5::kStages;
using dopri5::Slopes;
using std::size_t;

constexpr size_t kBlocksOfTask = 8;

/// How far an attempt leads, in steps of the block with the shortest: as many as it aims at, and as
/// many as it takes at most.
struct Reach {
  int aim, most;
};
// A token, say, takes fifty steps from rest to rest: events of the whole are seen far finer.
constexpr Reach kWatching = {8, 16};
// An attempt can be interrupted at its end.
constexpr Reach kUnwatched = {64, 256};
/// Blocks are filled up to whole vectors, of whatever width, with zeros.
constexpr size_t kVector = 16;
constexpr size_t kPlaces = kQuinticPlaces.size();

POPFLOW_WIDEST void advance(size_t stage, size_t count, const double* x, double h, const Slopes& k,
                            double* out) {
  const Slopes slopes = k;  // which `out` can't change
  dopri5::advance(stage, count, x, h, slopes, out);
}

/// The largest error in units of the tolerance; NaN if anything is not finite.
POPFLOW_WIDEST double largest_error(size_t count, const double* __restrict x,
                                    const double* __restrict x_new, double h, const Slopes& k,
                                    double atol, double rtol) {
  const Slopes slopes = k;
  double high[kVector] = {};
  double poison[kVector] = {};
  for (size_t from = 0; from < count; from += kVector)
    for (size_t i = 0; i < kVector; ++i) {
      const double error = dopri5::error_at(from + i, x, x_new, h, slopes, atol, rtol);
      high[i] = error > high[i] ? error : high[i];
      poison[i] += 0 * error;  // 0, or NaN
    }
  double worst = 0;
  for (size_t i = 0; i < kVector; ++i) worst = std::max(worst, high[i]) + poison[i];
  return worst;
}

}  // namespace

/// Of one block, over the attempt.
struct BlockDopri5::Block {
  size_t begin, count;
  double* length;  ///< of its next step
  double reached;
};

/// What a thread needs for a block.
struct BlockDopri5::Desk {
  explicit Desk(size_t items) : values(kPassageNodes.size(), std::vector<double>(items * kBlock)) {
    for (size_t j = 0; j < kStages; ++j) k[j] = slopes[j].data();
  }
  using Row = std::array<double, kBlock>;
  alignas(64) Row first{}, second{}, between{};
  double* x = first.data();
  double* x_new = second.data();
  alignas(64) std::array<Row, kStages> slopes{};
  alignas(64) std::array<Row, kPlaces> inner{};
  std::array<double*, kStages> k{};         ///< the slopes in order
  std::vector<std::vector<double>> values;  ///< of passage functions, at the places of a step
};

/// What the blocks of a task have come to.
struct BlockDopri5::Task {
  double next = std::numeric_limits<double>::infinity();  ///< shortest step to try next
  double reached = std::numeric_limits<double>::infinity();
  bool finite = true;
  int most_steps = 0;
  std::int64_t evaluated = 0;  ///< entries of slopes
  std::vector<Passed> passed;
};

bool BlockDopri5::suits(const System& system) {
  const Capabilities can = system.capabilities();
  const Shape& shape = system.shape();
  return can.separable && !can.switching && !can.proximal && shape.blocks.size() == 1 &&
         shape.state_size() > kBlock;
}

BlockDopri5::BlockDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance,
                         Workers& workers, const EventWatch& events, const Passages& passages)
    : rhs_(rhs),
      separable_(system.capabilities().separable),
      order_(separable_->part_order()),
      tolerance_(tolerance),
      scale_(system.shape().blocks.front().scale),
      workers_(workers),
      events_(events),
      passages_(passages),
      items_(passages.times().size() / std::max<size_t>(1, tolerance.size())),
      x_(tolerance.size()),
      x_new_(tolerance.size()),
      slopes_(tolerance.size()),
      slopes_new_(tolerance.size()),
      lengths_((tolerance.size() + kBlock - 1) / kBlock) {}

void BlockDopri5::accept() {
  x_.swap(x_new_);
  slopes_.swap(slopes_new_);
}

void BlockDopri5::reset() {
  known_ = false;
  std::fill(lengths_.begin(), lengths_.end(), 0.0);
}

Trial BlockDopri5::attempt(const State& x, double t, double h, State& x_new) {
  const Reach reach = events_.watching() ? kWatching : kUnwatched;
  std::vector<Task> tasks((lengths_.size() + kBlocksOfTask - 1) / kBlocksOfTask);
  workers_.run(tasks.size(), x.size(), [&](size_t number) {
    Desk desk(passages_.none_left() ? 0 : items_);
    const size_t first = number * kBlocksOfTask;
    for (size_t b = first; b < std::min(lengths_.size(), first + kBlocksOfTask); ++b) {
      const size_t begin = b * kBlock;
      Block block{begin, std::min(kBlock, x.size() - begin), &lengths_[b], t};
      if (!known_) {
        for (size_t l = begin; l < begin + block.count; ++l) x_[l] = x[entry(l)];
        separable_->part_rhs(begin, {&x_[begin], block.count}, t, {&slopes_[begin], block.count});
        tasks[number].evaluated += static_cast<std::int64_t>(block.count);
      }
      const bool followed = follow(desk, t, h, reach.most, block, tasks[number]);
      if (!followed) tasks[number].reached = std::min(tasks[number].reached, block.reached);
      for (size_t l = begin; followed && l < begin + block.count; ++l) x_new[entry(l)] = x_new_[l];
    }
  });
  known_ = true;

  passed_.clear();
  Task all;
  for (const Task& task : tasks) {
    all.next = std::min(all.next, task.next);
    all.reached = std::min(all.reached, task.reached);
    all.finite = all.finite && task.finite;
    all.most_steps = std::max(all.most_steps, task.most_steps);
    all.evaluated += task.evaluated;
    passed_.insert(passed_.end(), task.passed.begin(), task.passed.end());
  }
  const auto entries = static_cast<std::int64_t>(x.size());
  rhs_.add_evaluations((all.evaluated + entries - 1) / entries);
  most_steps_ = all.most_steps;
  if (std::isfinite(all.reached))  // not all that way
    return {false, all.finite, std::max(0.1 * h, 0.8 * (all.reached - t))};
  return {true, true, reach.aim * all.next};
}

bool BlockDopri5::follow(Desk& desk, double t, double h, int most, Block& block, Task& task) {
  const size_t begin = block.begin;
  const size_t count = block.count;
  const size_t filled = (count + kVector - 1) / kVector * kVector;
  std::copy_n(&x_[begin], count, desk.x);
  std::copy_n(&slopes_[begin], count, desk.k[0]);
  for (double* row : {desk.x, desk.x_new, desk.between.data()})
    std::fill(row + count, row + filled, 0.0);
  for (double* row : desk.k) std::fill(row + count, row + filled, 0.0);
  const auto slope = [&](const double* at, double time, double* out) {
    separable_->part_rhs(begin, {at, count}, time, {out, count});
    task.evaluated += static_cast<std::int64_t>(count);
  };

  double length = *block.length > 0 ? *block.length : h;
  bool rejected = false;
  bool finite = true;
  int steps = 0;
  for (double done = 0; done < h;) {
    block.reached = t + done;
    if (steps == most) return false;
    if (length < smallest_step(t + done)) {
      task.finite = task.finite && finite;
      return false;
    }
    const double remaining = h - done;
    const double step = step_within(length, remaining);

    for (size_t stage = 1; stage < kStages; ++stage) {
      Slopes k{};
      std::copy_n(desk.k.begin(), stage, k.of);
      double* out = stage + 1 < kStages ? desk.between.data() : desk.x_new;
      advance(stage, filled, desk.x, step, k, out);
      slope(out, t + done + dopri5::kTimes[stage] * step, desk.k[stage]);
    }
    Slopes k{};
    std::copy_n(desk.k.begin(), kStages, k.of);
    const double error = largest_error(filled, desk.x, desk.x_new, step, k,
                                       tolerance_.atol() * scale_, tolerance_.rtol());
    finite = std::isfinite(error);
    if (!(error <= 1)) {
      length = step * (finite ? step_factor(error, kErrorOrder) : kAfterNonFinite);
      rejected = true;
      continue;
    }
    if (!passages_.none_left()) locate(desk, begin, count, t + done, step, task.passed);
    std::swap(desk.x, desk.x_new);
    task.most_steps = std::max(task.most_steps, ++steps);
    std::swap(desk.k[0], desk.k[kStages - 1]);
    double next = step * step_factor(error, kErrorOrder);
    if (rejected) next = std::min(next, step);
    length = next_length(length, step, next);
    rejected = false;
    done = step == remaining ? h : done + step;
  }
  std::copy_n(desk.x, count, &x_new_[begin]);
  std::copy_n(desk.k[0], count, &slopes_new_[begin]);
  *block.length = length;
  task.next = std::min(task.next, length);
  return true;
}

/// The block's items that pass in the last step, of length h from t.
void BlockDopri5::locate(Desk& desk, size_t begin, size_t count, double t, double h,
                         std::vector<Passed>& passed) const {
  constexpr size_t kLast = kPassageNodes.size() - 1;
  std::vector<double>& before = desk.values.front();
  std::vector<double>& after = desk.values.back();
  separable_->part_passages(begin, {desk.x_new, count}, t + h, after);
  const auto item = [&](size_t i, size_t l) { return i * x_.size() + entry(begin + l); };
  const auto passes = [&](size_t i, size_t l) {
    return after[i * count + l] >= 0 && !passages_.passed(item(i, l));
  };
  // Most often a few neighbours.
  size_t low = count;
  size_t high = 0;
  for (size_t i = 0; i < items_; ++i)
    for (size_t l = 0; l < count; ++l)
      if (passes(i, l)) {
        low = std::min(low, l);
        high = std::max(high, l + 1);
      }
  if (low >= high) return;
  separable_->part_passages(begin, {desk.x, count}, t, before);

  // The extension of order five, as in Dopri5::extend(), for these alone.
  const size_t some = high - low;
  for (size_t place = 0; place < kPlaces; ++place) {
    for (size_t l = low; l < high; ++l) {
      std::array<double, kStages> slopes;
      for (size_t j = 0; j < kStages; ++j) slopes[j] = desk.k[j][l];
      desk.between[l] = dopri5::between(desk.x[l], desk.x_new[l], h, slopes, kQuinticPlaces[place]);
    }
    separable_->part_rhs(begin + low, {&desk.between[low], some}, t + kQuinticPlaces[place] * h,
                         {&desk.inner[place][low], some});
  }
  for (size_t node = 1; node < kLast; ++node) {
    const ExtensionWeights<4> w = kQuintic.at(kPassageNodes[node]);
    for (size_t l = low; l < high; ++l)
      desk.between[l] =
          w.state(desk.x[l], desk.x_new[l], h,
                  {desk.k[0][l], desk.inner[0][l], desk.inner[1][l], desk.k[kStages - 1][l]});
    separable_->part_passages(begin + low, {&desk.between[low], some}, t + kPassageNodes[node] * h,
                              {desk.values[node].data(), items_ * some});
  }
  for (size_t i = 0; i < items_; ++i)
    for (size_t l = low; l < high; ++l) {
      // What lay beyond its level before this step has passed earlier in the attempt.
      if (!passes(i, l) || before[i * count + l] >= 0) continue;
      std::array<double, kPassageNodes.size()> values;
      values.front() = before[i * count + l];
      for (size_t node = 1; node < kLast; ++node)
        values[node] = desk.values[node][i * some + (l - low)];
      values.back() = after[i * count + l];
      passed.push_back({item(i, l), t + first_root(kPassageNodes, values) * h});
    }
}

}  // namespace popflow
