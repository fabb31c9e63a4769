#pragma once

#include <cstdint>
#include <string>

#include "popflow/outcome.hpp"

/// Outcomes of a driver that has not reached its target. `where` is "t = 1.5" or similar.
namespace popflow {

/// Outcome if a signal interrupted the run.
inline Outcome interrupted_at(double t, const std::string& where) {
  return {Outcome::Kind::interrupted, t, "interrupted at " + where};
}

/// Outcome if the condition that ends the run holds.
inline Outcome stopped_at(double t, const std::string& where, const std::string& condition) {
  return {Outcome::Kind::stopped, t, "stopped at " + where + ": " + condition};
}

/// Outcome if all allowed steps were taken.
inline Outcome too_many_steps(std::int64_t limit, double t, const std::string& where) {
  return {Outcome::Kind::step_limit, t,
          "the limit of " + std::to_string(limit) + " steps (--max-steps) was reached at " + where};
}

/// Outcome if the state diverged; the last valid state is at t.
inline Outcome diverged_at(double t, const std::string& sentence) {
  Outcome outcome{Outcome::Kind::diverged, t, sentence};
  outcome.diverged_at = t;
  return outcome;
}

/// Outcome if the state became non-finite. `blame` continues the message with the cause, if it is
/// known (flow/non_finite.hpp).
inline Outcome not_finite_after(double t, const std::string& where, const std::string& blame = "") {
  return diverged_at(t, "the trajectory became non-finite after " + where + blame);
}

}  // namespace popflow
