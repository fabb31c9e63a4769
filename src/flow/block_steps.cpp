#include "flow/block_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "flow/dopri5_rows.hpp"
#include "flow/step_length.hpp"
#include "popflow/widest.hpp"
#include "steppers/extension.hpp"

namespace popflow {

namespace {

using dopri5::kErrorOrder;
using dopri5::kStages;
using dopri5::Slopes;
using std::size_t;

constexpr size_t kLargest = Separable::kLargestPart;
constexpr size_t kEntriesOfTask = 8 * kLargest;
/// Blocks are padded with zeros to a multiple of the widest vector.
constexpr size_t kVector = 16;
constexpr size_t kPlaces = kQuinticPlaces.size();

POPFLOW_WIDEST void advance(size_t stage, size_t count, const double* x, double h, const Slopes& k,
                            double* out) {
  const Slopes slopes = k;  // a copy that cannot alias `out`
  dopri5::advance(stage, count, x, h, slopes, out);
}

/// Largest error in units of the tolerance; NaN if any value is not finite.
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
      poison[i] += 0 * error;  // NaN if the error is not finite, otherwise 0
    }
  double worst = 0;
  for (size_t i = 0; i < kVector; ++i) worst = std::max(worst, high[i]) + poison[i];
  return worst;
}

/// Sum of a row that is padded to whole vectors.
POPFLOW_WIDEST double sum(size_t count, const double* row) {
  double sums[kVector] = {};
  for (size_t from = 0; from < count; from += kVector)
    for (size_t i = 0; i < kVector; ++i) sums[i] += row[from + i];
  double all = 0;
  for (const double one : sums) all += one;
  return all;
}

}  // namespace

/// Progress of one block over the stretch.
struct BlockSteps::Block {
  size_t number, begin, count;
  double covered = 0;
};

BlockSteps::Block BlockSteps::block(size_t number) const {
  const size_t begin = number * block_;
  return {number, begin, std::min(block_, x_.size() - begin)};
}

/// Scratch memory of a thread for one block.
struct BlockSteps::Desk {
  explicit Desk(size_t items)
      : values(kPassageNodes.size(), std::vector<double>(items * kLargest)) {
    for (size_t j = 0; j < kStages; ++j) k[j] = slopes[j].data();
  }
  using Row = std::array<double, kLargest>;
  alignas(64) Row first{}, second{}, between{};
  double* x = first.data();
  double* x_new = second.data();
  alignas(64) std::array<Row, kStages> slopes{};
  alignas(64) std::array<Row, kPlaces> inner{};
  std::array<double*, kStages> k{};         ///< the stages' slopes in order
  std::vector<std::vector<double>> values;  ///< of passage functions, at the nodes of a step
};

/// Results of the blocks of one task.
struct BlockSteps::Task {
  Stretch stretch;
  std::int64_t evaluated = 0;  ///< number of slope entries evaluated
  std::vector<Passed> passed;
};

BlockSteps::BlockSteps(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
                       const Passages& passages)
    : rhs_(rhs),
      separable_(system.capabilities().separable),
      block_(separable_->part_size()),
      order_(separable_->part_order()),
      jumps_(system.capabilities().jumps),
      tolerance_(tolerance),
      scale_(system.shape().blocks.front().scale),
      workers_(workers),
      passages_(passages),
      items_(passages.times().size() / std::max<size_t>(1, tolerance.size())),
      x_(tolerance.size()),
      x_new_(tolerance.size()),
      slopes_(tolerance.size()),
      slopes_new_(tolerance.size()),
      lengths_((tolerance.size() + block_ - 1) / block_) {}

void BlockSteps::accept() {
  x_.swap(x_new_);
  slopes_.swap(slopes_new_);
}

void BlockSteps::reset() {
  known_ = false;
  std::fill(lengths_.begin(), lengths_.end(), 0.0);
}

size_t BlockSteps::groups() const { return (x_.size() + kEntriesOfTask - 1) / kEntriesOfTask; }

template <class Body>
void BlockSteps::each_task(Body&& body) {
  workers_.run(groups(), x_.size(), [&](size_t task) {
    const size_t blocks = kEntriesOfTask / block_;
    const size_t first = task * blocks;
    body(task, first, std::min(lengths_.size(), first + blocks));
  });
}

void BlockSteps::load(const State& x, double t, const Block& block, std::int64_t& evaluated) {
  for (size_t l = block.begin; l < block.begin + block.count; ++l) x_[l] = x[entry(l)];
  slope(block, &x_[block.begin], t, &slopes_[block.begin], evaluated);
}

void BlockSteps::write(const Block& block, State& x_new) const {
  for (size_t l = block.begin; l < block.begin + block.count; ++l) x_new[entry(l)] = x_new_[l];
}

void BlockSteps::slope(const Block& block, const double* x, double t, double* out,
                       std::int64_t& evaluated) const {
  separable_->part_rhs(block.begin, {x, block.count}, t, {out, block.count});
  evaluated += static_cast<std::int64_t>(block.count);
}

void BlockSteps::count(std::int64_t evaluated) {
  const auto entries = static_cast<std::int64_t>(x_.size());
  rhs_.add_evaluations((evaluated + entries - 1) / entries);
}

BlockSteps::Stretch BlockSteps::follow(const State& x, double t, double h, const Limits& limits,
                                       State& x_new) {
  if (clock_) clock_->begin(lengths_.size());
  std::vector<Task> tasks(groups());
  each_task([&](size_t number, size_t first, size_t last) {
    Task& task = tasks[number];
    Desk desk(passages_.all_passed() ? 0 : items_);
    for (size_t b = first; b < last; ++b) {
      Block block = this->block(b);
      if (!known_) load(x, t, block, task.evaluated);
      if (follow(desk, t, h, limits, block, task))
        write(block, x_new);
      else
        task.stretch.covered = std::min(task.stretch.covered, block.covered);
    }
  });
  known_ = true;

  passed_.clear();
  Stretch all;
  std::int64_t evaluated = 0;
  for (const Task& task : tasks) {
    all.next = std::min(all.next, task.stretch.next);
    all.covered = std::min(all.covered, task.stretch.covered);
    all.finite = all.finite && task.stretch.finite;
    all.most_steps = std::max(all.most_steps, task.stretch.most_steps);
    evaluated += task.evaluated;
    passed_.insert(passed_.end(), task.passed.begin(), task.passed.end());
  }
  count(evaluated);
  return all;
}

bool BlockSteps::follow(Desk& desk, double t, double h, const Limits& limits, Block& block,
                        Task& task) {
  const size_t begin = block.begin;
  const size_t count = block.count;
  const size_t filled = (count + kVector - 1) / kVector * kVector;
  std::copy_n(&x_[begin], count, desk.x);
  std::copy_n(&slopes_[begin], count, desk.k[0]);
  for (double* row : {desk.x, desk.x_new, desk.between.data()})
    std::fill(row + count, row + filled, 0.0);
  for (double* row : desk.k) std::fill(row + count, row + filled, 0.0);
  double& next_of_block = lengths_[block.number];
  RescaledTime::Step sums;
  if (clock_) sums.slopes[0] = sum(filled, desk.k[0]);
  // A short stretch is no underflow: only a step length that the error estimate asks for can be too
  // short.
  const double shortest = std::max(limits.shortest, smallest_step(t, jumps_));
  double length = next_of_block > 0 ? next_of_block : std::max(h, shortest);
  bool rejected = false;
  bool finite = true;
  int steps = 0;
  for (FineTime<double> way; way.t < h;) {
    const double done = block.covered = way.now();
    if (steps == limits.most ||
        length < std::max(limits.shortest, smallest_step(t + done, jumps_))) {
      task.stretch.finite = task.stretch.finite && finite;
      return false;
    }
    const double remaining = way.left(h);
    const double step = step_within(length, remaining);

    for (size_t stage = 1; stage < kStages; ++stage) {
      Slopes k{};
      std::copy_n(desk.k.begin(), stage, k.of);
      double* out = stage + 1 < kStages ? desk.between.data() : desk.x_new;
      advance(stage, filled, desk.x, step, k, out);
      slope(block, out, t + done + dopri5::kTimes[stage] * step, desk.k[stage], task.evaluated);
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
    if (!passages_.all_passed()) locate(desk, begin, count, t + done, step, task.passed);
    if (clock_) {
      sums.begin = done;
      sums.length = step;
      for (size_t j = 1; j < kStages; ++j) sums.slopes[j] = sum(filled, desk.k[j]);
      clock_->add(block.number, sums);
      sums.slopes[0] = sums.slopes[kStages - 1];
    }
    std::swap(desk.x, desk.x_new);
    task.stretch.most_steps = std::max(task.stretch.most_steps, ++steps);
    std::swap(desk.k[0], desk.k[kStages - 1]);
    double next = step * step_factor(error, kErrorOrder);
    if (rejected) next = std::min(next, step);
    length = next_length(length, step, next);
    rejected = false;
    way = step == remaining ? FineTime<double>{h} : way.after(step, jumps_);
  }
  std::copy_n(desk.x, count, &x_new_[begin]);
  std::copy_n(desk.k[0], count, &slopes_new_[begin]);
  next_of_block = length;
  task.stretch.next = std::min(task.stretch.next, length);
  return true;
}

// ---- growth rate of the sum of all entries

template <class Body>
double BlockSteps::sum_of_blocks(Body&& body) {
  std::vector<double> sums(groups());
  each_task([&](size_t task, size_t first, size_t last) {
    for (size_t b = first; b < last; ++b) sums[task] += body(block(b));
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double BlockSteps::rate(const State& x) {
  if (!known_) count(static_cast<std::int64_t>(x.size()));
  const double rate = sum_of_blocks([&](const Block& block) {
    std::int64_t evaluated = 0;
    if (!known_) load(x, 0, block, evaluated);
    return std::accumulate(&slopes_[block.begin], &slopes_[block.begin] + block.count, 0.0);
  });
  known_ = true;
  return rate;
}

double BlockSteps::rate_after(double h) {
  count(static_cast<std::int64_t>(x_.size()));
  return sum_of_blocks([&](const Block& block) {
    std::array<double, kLargest> row, rates;
    for (size_t l = 0; l < block.count; ++l)
      row[l] = x_[block.begin + l] + h * slopes_[block.begin + l];
    separable_->part_rhs(block.begin, {row.data(), block.count}, 0, {rates.data(), block.count});
    return std::accumulate(rates.begin(), rates.begin() + block.count, 0.0);
  });
}

double BlockSteps::rate_at_end() {
  return sum_of_blocks([&](const Block& block) {
    return std::accumulate(&slopes_new_[block.begin], &slopes_new_[block.begin] + block.count, 0.0);
  });
}

void BlockSteps::nudge(double t, double growth, State& x_new) {
  // Midpoint rule; the second half restores the exact sum.
  const double half = 0.5 * growth / rate_at_end();
  const double rate = sum_of_blocks([&](const Block& block) {
    std::array<double, kLargest> middle;
    double* slopes = &slopes_new_[block.begin];
    for (size_t l = 0; l < block.count; ++l) middle[l] = x_new_[block.begin + l] + half * slopes[l];
    separable_->part_rhs(block.begin, {middle.data(), block.count}, 0, {slopes, block.count});
    return std::accumulate(slopes, slopes + block.count, 0.0);
  });
  const double h = growth / rate;
  const bool look = h > 0 && !passages_.all_passed();
  std::vector<std::vector<Passed>> passed(groups());
  each_task([&](size_t task, size_t first, size_t last) {
    std::vector<double> before(look ? items_ * block_ : 0);
    std::vector<double> after(before.size());
    for (size_t b = first; b < last; ++b) {
      const Block block = this->block(b);
      const std::span<double> x = {&x_new_[block.begin], block.count};
      double* slopes = &slopes_new_[block.begin];
      if (look) separable_->part_passages(block.begin, x, 0, before);
      for (size_t l = 0; l < block.count; ++l) x[l] += h * slopes[l];
      separable_->part_rhs(block.begin, x, 0, {slopes, block.count});
      write(block, x_new);
      if (!look) continue;
      separable_->part_passages(block.begin, x, 0, after);
      for (size_t i = 0; i < items_; ++i)
        for (size_t l = 0; l < block.count; ++l) {
          const double from = before[i * block.count + l];
          const double to = after[i * block.count + l];
          if (!(from < 0 && to >= 0)) continue;
          passed[task].push_back({item(i, block.begin + l), t + h * from / (from - to)});
        }
    }
  });
  for (const std::vector<Passed>& some : passed)
    for (const Passed& one : some)
      if (!passages_.passed(one.item)) passed_.push_back(one);
  count(2 * static_cast<std::int64_t>(x_.size()));
}

// ---- passages

/// Locates the block's items that pass in the last step, of length h from t.
void BlockSteps::locate(Desk& desk, size_t begin, size_t count, double t, double h,
                        std::vector<Passed>& passed) const {
  constexpr size_t kLast = kPassageNodes.size() - 1;
  std::vector<double>& before = desk.values.front();
  std::vector<double>& after = desk.values.back();
  separable_->part_passages(begin, {desk.x_new, count}, t + h, after);
  const auto beyond = [&](size_t i, size_t l) {
    return after[i * count + l] >= 0 && !passages_.passed(item(i, begin + l));
  };
  const auto passes = [&](size_t i, size_t l) { return beyond(i, l) && before[i * count + l] < 0; };
  // Usually the passing items are a few neighbours.
  size_t low = count;
  size_t high = 0;
  const auto find_range = [&](const auto& belongs) {
    low = count;
    high = 0;
    for (size_t i = 0; i < items_; ++i)
      for (size_t l = 0; l < count; ++l)
        if (belongs(i, l)) {
          low = std::min(low, l);
          high = std::max(high, l + 1);
        }
    return low < high;
  };
  if (!find_range(beyond)) return;
  separable_->part_passages(begin, {desk.x, count}, t, before);
  if (!find_range(passes)) return;

  // Dense output of order five, as in Dopri5::extend(), for these entries only.
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
      if (!passes(i, l)) continue;
      std::array<double, kPassageNodes.size()> values;
      values.front() = before[i * count + l];
      for (size_t node = 1; node < kLast; ++node)
        values[node] = desk.values[node][i * some + (l - low)];
      values.back() = after[i * count + l];
      passed.push_back({item(i, begin + l), t + first_root(kPassageNodes, values) * h});
    }
}

}  // namespace popflow
