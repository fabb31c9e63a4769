#include "flow/partial_steps.hpp"

#include <algorithm>

#include "flow/step_control.hpp"

namespace popflow {

void PartialSteps::take(Stepper& stepper, const State& x, double t, double h, bool jumps,
                        double part, State& out) {
  const Place* last = nullptr;
  if (stepper.variable_order())
    for (const Place& place : places_)
      if (place.part <= part) last = &place;
  const double from = last ? t + last->part * h : t;
  const double span = last ? (part - last->part) * h : part * h;
  const State& begin = last ? last->x : x;
  if (last && span < smallest_step(from, jumps)) {
    out = begin;
    return;
  }
  stepper.reset();
  Trial trial = stepper.attempt(begin, from, span, out);
  if (!(trial.accepted && trial.length >= span) && stepper.adaptive()) {
    State here = begin;
    double done = 0;
    for (double step = trial.accepted ? span : trial.next; done < span; step = trial.next) {
      if (step < smallest_step(from, jumps)) break;
      step = std::min(step, span - done);
      trial = stepper.attempt(here, from + done, step, out);
      if (!trial.accepted) continue;
      stepper.accept();
      const bool end = step == span - done && trial.length >= step;
      done = end ? span : done + std::min(step, trial.length);
      if (!end) here.swap(out);
    }
  }
  if (stepper.variable_order()) remember(part, out);
}

void PartialSteps::remember(double part, const State& x) {
  // Keep only a few states: most requested states are close to one of the last few.
  constexpr std::size_t kMostPlaces = 4;
  const auto after =
      std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.part > part; });
  places_.insert(after, {part, x});
  if (places_.size() > kMostPlaces) places_.erase(places_.begin());
}

}  // namespace popflow
