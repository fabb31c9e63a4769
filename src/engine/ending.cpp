#include "engine/ending.hpp"

#include <algorithm>

#include "engine/interrupt.hpp"

namespace popflow {

void EnsembleEnding::add(const Ending& run) {
  const Outcome& outcome = run.outcome;
  if (runs_ == 0) first_ = run;
  ++runs_;
  if (outcome.kind == Outcome::Kind::interrupted && interrupted_.kind != Outcome::Kind::interrupted)
    interrupted_ = outcome;
  if (outcome.kind == Outcome::Kind::diverged) {
    diverged_at_ =
        diverged_ == 0 ? outcome.diverged_at : std::min(diverged_at_, outcome.diverged_at);
    ++diverged_;
    return;  // the outcome of a diverged run has no meaning
  }
  if (exit_code(outcome.kind) == ExitCode::limit && limited_++ == 0) limit_ = outcome.kind;
  if (outcome.kind == Outcome::Kind::stopped) ++stopped_;
  if (!where_) where_ = run.where;
  if (*where_ != run.where) where_ = "undecided";
}

Ending EnsembleEnding::ending() const {
  if (runs_ == 1) return first_;
  const std::string where = where_.value_or("undecided");
  if (interrupted_.kind == Outcome::Kind::interrupted) return {interrupted_, where};
  const std::string of_all = " of " + std::to_string(runs_) + " runs ";
  if (diverged_ == 0 && limited_ == 0 && stopped_ > 0) {
    Outcome outcome;
    if (stopped_ == runs_) outcome.kind = Outcome::Kind::stopped;
    outcome.message = std::to_string(stopped_) + of_all +
                      "stopped by the condition of --stop-when; see 'stop_time'";
    return {outcome, where};
  }
  if (diverged_ == 0 && (limited_ == 0 || limited_ == runs_)) return {first_.outcome, where};
  Outcome outcome;
  outcome.kind = limit_;
  if (limited_ > 0) outcome.message = std::to_string(limited_) + of_all + "ended at a limit";
  if (diverged_ > 0)
    outcome.message += (limited_ > 0 ? ", " + std::to_string(diverged_) + " "
                                     : std::to_string(diverged_) + of_all) +
                       "diverged";
  outcome.message += "; see 'status' and 'stop_time'";
  if (diverged_ == runs_) {
    outcome.kind = Outcome::Kind::diverged;
    outcome.diverged_at = diverged_at_;
  }
  return {outcome, where};
}

ExitCode exit_code(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
    case Outcome::Kind::steady:
    case Outcome::Kind::stopped:
      return ExitCode::success;
    case Outcome::Kind::diverged:
      return ExitCode::diverged;
    case Outcome::Kind::step_limit:
    case Outcome::Kind::underflow:
    case Outcome::Kind::stuck:
      return ExitCode::limit;
    case Outcome::Kind::interrupted:
      return interrupted_code();
  }
  return ExitCode::success;
}

}  // namespace popflow
