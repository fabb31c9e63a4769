#include "engine/trajectory.hpp"

#include <span>
#include <utility>

namespace popflow {

void Trajectory::begin(std::optional<Restart> from) {
  const bool at_start = !from || from->saves == 0;
  if (from) driver_->restore(std::move(from->x), std::move(from->regime), from->t, from->data);
  if (at_start && driver_->time() == 0) sink_->start(*driver_);
}

void Trajectory::advance(std::size_t save) {
  if (ended() || save >= schedule_->size()) return;
  outcome_ = driver_->advance(std::span(*schedule_).subspan(save));
  if (outcome_.kind == Outcome::Kind::reached) return sink_->save(save, *driver_);
  if (outcome_.kind == Outcome::Kind::interrupted) return sink_->interrupt(save, *driver_);
  const bool saved = save > 0 && (*schedule_)[save - 1] == driver_->time();
  sink_->stop(save, saved, *driver_);
}

void Trajectory::finish() {
  if (outcome_.kind != Outcome::Kind::interrupted) sink_->finish(outcome_, *driver_);
}

}  // namespace popflow
