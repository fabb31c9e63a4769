#include "flow/lane_pace.hpp"

#include "lanes/lane_width.hpp"

namespace popflow {

namespace {

using std::size_t;

/// Rows of LanePace as Packs of numbers.
template <class Number>
class PaceRows {
 public:
  explicit PaceRows(Number* rows) : rows_(rows) {}
  [[nodiscard]] Number& operator[](LanePace::Row row) { return rows_[row]; }
  [[nodiscard]] Truth<Number> is(LanePace::Row row) const { return rows_[row] != 0; }
  void set(LanePace::Row row, const Truth<Number>& truth) {
    rows_[row] = select(truth, Number(1), Number(0));
  }

  [[nodiscard]] StepControl<Number> control() const {
    return {.at = {rows_[LanePace::t], rows_[LanePace::remainder]},
            .length = rows_[LanePace::length],
            .bounds = {rows_[LanePace::longest], rows_[LanePace::cautious_since]},
            .jumps = is(LanePace::jumps),
            .retry = is(LanePace::retry),
            .finite = is(LanePace::finite)};
  }
  /// Writes all fields that a step changes.
  void set(const StepControl<Number>& control) {
    rows_[LanePace::t] = control.at.t;
    rows_[LanePace::remainder] = control.at.remainder;
    rows_[LanePace::length] = control.length;
    set(LanePace::retry, control.retry);
    set(LanePace::finite, control.finite);
  }

 private:
  Number* rows_;
};

/// Updates the controllers of all lanes after a trial step. Returns true if any flow must be
/// examined.
template <class Number>
bool judge_lanes(const Number& error, const Number& factor, const Number& seen, Number& h,
                 PaceRows<Number> rows) {
  using Row = LanePace::Row;
  StepControl<Number> control = rows.control();
  const Number step = h;
  const Number target = rows[Row::target];
  const Truth<Number> busy = rows.is(Row::busy);
  const BasicTrial<Number> trial = judge(error, step, factor);
  const Truth<Number> taken = trial.accepted && busy;
  rows[Row::t_before] = control.at.now();
  control.update(taken, trial, step, control.end(step, target));
  rows.set(control);
  rows.set(Row::taken, taken);
  rows[Row::step] = step;

  const Number accepted = rows[Row::taken];
  const Number rejected = rows[Row::busy] - accepted;
  const Number smallest = rows[Row::smallest];
  const Number largest = rows[Row::largest];
  rows[Row::steps_left] -= rows[Row::busy];
  rows[Row::accepted] += accepted;
  rows[Row::rejected] += rejected;
  rows[Row::number] += accepted;
  rows[Row::smallest] = select(taken, smallest_with(smallest, step), smallest);
  rows[Row::largest] = select(taken, largest_with(largest, step), largest);

  const Truth<Number> on_its_way = control.at.t < target && rows[Row::steps_left] >= 1 &&
                                   control.length >= smallest_step(control.at.t, control.jumps);
  const Truth<Number> wanted = seen != 0 || control.at.t >= rows[Row::save];
  const Truth<Number> examine = busy && (!on_its_way || (taken && wanted) || !trial.finite);
  rows.set(Row::examine, examine);
  h = select(busy, control.step(target), Number(0));
  return any(examine);
}

}  // namespace

void LanePace::begin(std::size_t lane, const Flow& flow, LaneRows& h) {
  const StepControl<double>& control = flow.control;
  const double numbers[] = {1,
                            control.at.t,
                            control.at.remainder,
                            flow.target,
                            flow.save,
                            control.length,
                            control.bounds.longest,
                            control.bounds.cautious_since,
                            control.retry ? 1.0 : 0.0,
                            control.finite ? 1.0 : 0.0,
                            control.jumps ? 1.0 : 0.0,
                            static_cast<double>(flow.steps_left),
                            static_cast<double>(flow.accepted),
                            static_cast<double>(flow.rejected),
                            static_cast<double>(flow.interval.number),
                            flow.interval.smallest,
                            flow.interval.largest};
  rows_.write(lane, numbers);
  h.at(0, lane) = control.step(flow.target);
}

LanePace::Flow LanePace::flow(std::size_t lane) const {
  const auto count = [&](Row row) { return static_cast<std::int64_t>(at(row, lane)); };
  return {.control = {.at = {at(t, lane), at(remainder, lane)},
                      .length = at(length, lane),
                      .bounds = {at(longest, lane), at(cautious_since, lane)},
                      .jumps = at(jumps, lane) != 0,
                      .retry = at(retry, lane) != 0,
                      .finite = at(finite, lane) != 0},
          .target = at(target, lane),
          .steps_left = count(steps_left),
          .interval = {count(number), at(smallest, lane), at(largest, lane)},
          .accepted = count(accepted),
          .rejected = count(rejected)};
}

void LanePace::idle(std::size_t lane, LaneRows& h) {
  begin(lane, {}, h);
  rows_.at(busy, lane) = 0;
  h.at(0, lane) = 0;
}

bool LanePace::judge(const LaneRows& error, const LaneRows& factor, const LaneRows& seen,
                     LaneRows& h) {
  bool called = false;
  in_widest_vectors([&]<std::size_t width>() {
    called = judge_lanes(*error.packs<width>(), *factor.packs<width>(), *seen.packs<width>(),
                         *h.packs<width>(), PaceRows(rows_.packs<width>()));
  });
  return called;
}

bool LanePace::can_step(std::size_t lane) const {
  return at(steps_left, lane) >= 1 &&
         at(length, lane) >= smallest_step(at(t, lane), at(jumps, lane) != 0);
}

void add_reached(std::size_t rows, const LaneRows& awaited, const LaneRows& values,
                 LaneRows& reached) {
  in_widest_vectors([&]<std::size_t width>() {
    using Number = BasicPack<width>;
    Number& all = *reached.packs<width>();
    for (size_t row = 0; row < rows; ++row) {
      const Number& value = values.packs<width>()[row];
      const Number& sign = awaited.packs<width>()[row];
      const auto changed = (sign > 0 && value >= 0) || (sign < 0 && value < 0);
      all = select(changed, Number(1), all);
    }
  });
}

}  // namespace popflow
