#pragma once

#include <cstdint>
#include <string>

#include "popflow/outcome.hpp"

/// How a driver that has not reached its target says so. `where` is "t = 1.5" or the like.
namespace popflow {

inline Outcome interrupted_at(double t, const std::string& where) {
  return {Outcome::Kind::interrupted, t, "interrupted at " + where};
}

/// After all steps that are allowed.
inline Outcome too_many_steps(std::int64_t limit, double t, const std::string& where) {
  return {Outcome::Kind::step_limit, t,
          "the limit of " + std::to_string(limit) + " steps (--max-steps) was reached at " + where};
}

/// The last good state is at t.
inline Outcome diverged_at(double t, const std::string& sentence) {
  Outcome outcome{Outcome::Kind::diverged, t, sentence};
  outcome.diverged_at = t;
  return outcome;
}

/// `blame` goes on with what is known of it (flow/non_finite.hpp).
inline Outcome not_finite_after(double t, const std::string& where, const std::string& blame = "") {
  return diverged_at(t, "the trajectory became non-finite after " + where + blame);
}

}  // namespace popflow
