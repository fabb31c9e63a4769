#include "flow/lane_pace.hpp"

#include <cmath>

#include "flow/step_length.hpp"
#include "popflow/widest.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

namespace {

using std::size_t;

// Numbers are chosen, not ways: gcc vectorises no branches.

POPFLOW_WIDEST void judge_lanes(const double* __restrict error, const double* __restrict factor,
                                const double* __restrict seen, double* __restrict h,
                                double* __restrict rows) {
  const auto row = [rows](LanePace::Row which) { return rows + which * kLanes; };
  const double* const busy = row(LanePace::busy);
  for (size_t l = 0; l < kLanes; ++l) {
    const double step = h[l];
    const FineTime here{row(LanePace::t)[l], row(LanePace::beside)[l]};
    const double target = row(LanePace::target)[l];
    const double length = row(LanePace::length)[l];
    const double retry = row(LanePace::retry)[l];
    const double is_finite = std::isfinite(error[l]) ? 1.0 : 0.0;
    const double taken = error[l] <= 1 ? busy[l] : 0.0;
    const bool jumps = row(LanePace::jumps)[l] != 0;
    const FineTime there = here.after(step, jumps);
    const bool ends = step == here.left(target);
    const double later = ends ? target : there.t;
    const double later_beside = ends ? 0 : there.beside;
    const double t = taken != 0 ? later : here.t;
    const double beside = taken != 0 ? later_beside : here.beside;
    const double wanted = step * factor[l];
    const double shorter = wanted < step ? wanted : step;
    const StepBounds bounds{row(LanePace::longest)[l], row(LanePace::cautious_since)[l]};
    const double by_error = next_length(length, step, retry != 0 ? shorter : wanted);
    const double after = bounds.bounded(by_error, length, t);
    // A step that met a NaN or an infinity gives no estimate of how much too long it was.
    const double blind = kAfterNonFinite * step;
    const double again = is_finite != 0 ? shorter : blind;
    const double new_length = taken != 0 ? after : again;
    const double left = row(LanePace::steps_left)[l] - busy[l];
    const double smallest = row(LanePace::smallest)[l];
    const double largest = row(LanePace::largest)[l];
    // Both are NaN before the first step.
    const double smaller = step > smallest ? smallest : step;
    const double larger = step < largest ? largest : step;
    row(LanePace::t)[l] = t;
    row(LanePace::beside)[l] = beside;
    row(LanePace::length)[l] = new_length;
    row(LanePace::retry)[l] = busy[l] - taken;
    row(LanePace::finite)[l] = is_finite;
    row(LanePace::steps_left)[l] = left;
    row(LanePace::accepted)[l] += taken;
    row(LanePace::rejected)[l] += busy[l] - taken;
    row(LanePace::number)[l] += taken;
    row(LanePace::smallest)[l] = taken != 0 ? smaller : smallest;
    row(LanePace::largest)[l] = taken != 0 ? larger : largest;
    row(LanePace::taken)[l] = taken;
    row(LanePace::step)[l] = step;
    row(LanePace::t_before)[l] = here.now();
    const double stuck = left >= 1 ? 0.0 : 1.0;
    const double too_short = new_length >= smallest_step(t, jumps) ? stuck : 1.0;
    const double arrived = t < target ? too_short : 1.0;
    const double happened = seen[l] != 0 ? taken : 0.0;
    row(LanePace::calls)[l] = busy[l] * (arrived + happened + (1 - is_finite));
    const double left_of_way = FineTime{t, beside}.left(target);
    h[l] = busy[l] * step_within(bounds.within_longest(new_length), left_of_way);
  }
}

POPFLOW_WIDEST void add_reached_row(const double* __restrict watched,
                                    const double* __restrict values, double* __restrict reached) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double here = values[l] >= 0 ? watched[l] : 0.0;
    reached[l] = here > reached[l] ? here : reached[l];
  }
}

}  // namespace

void LanePace::begin(std::size_t lane, const Flow& flow, LaneRows& h) {
  const double numbers[] = {1,
                            flow.t,
                            flow.beside,
                            flow.target,
                            flow.length,
                            flow.bounds.longest,
                            flow.bounds.cautious_since,
                            flow.retry ? 1.0 : 0.0,
                            flow.finite ? 1.0 : 0.0,
                            flow.jumps ? 1.0 : 0.0,
                            static_cast<double>(flow.steps_left),
                            static_cast<double>(flow.accepted),
                            static_cast<double>(flow.rejected),
                            static_cast<double>(flow.interval.number),
                            flow.interval.smallest,
                            flow.interval.largest};
  rows_.write(lane, numbers);
  h.at(0, lane) = step_within(flow.bounds.within_longest(flow.length),
                              FineTime{flow.t, flow.beside}.left(flow.target));
}

LanePace::Flow LanePace::flow(std::size_t lane) const {
  const auto count = [&](Row row) { return static_cast<std::int64_t>(at(row, lane)); };
  return {.t = at(t, lane),
          .beside = at(beside, lane),
          .target = at(target, lane),
          .length = at(length, lane),
          .bounds = {at(longest, lane), at(cautious_since, lane)},
          .retry = at(retry, lane) != 0,
          .finite = at(finite, lane) != 0,
          .jumps = at(jumps, lane) != 0,
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
  judge_lanes(error.data(), factor.data(), seen.data(), h.data(), rows_.data());
  double any = 0;
  for (size_t l = 0; l < kLanes; ++l) any += row(calls)[l];
  return any != 0;
}

bool LanePace::may_go_on(std::size_t lane) const {
  return at(steps_left, lane) >= 1 &&
         at(length, lane) >= smallest_step(at(t, lane), at(jumps, lane) != 0);
}

void add_reached(std::size_t rows, const LaneRows& watched, const LaneRows& values,
                 LaneRows& reached) {
  for (size_t row = 0; row < rows; ++row)
    add_reached_row(watched.data() + row * kLanes, values.data() + row * kLanes, reached.data());
}

}  // namespace popflow
