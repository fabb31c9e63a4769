#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "popflow/outcome.hpp"

namespace popflow {

/// The status of a run, as in files: the words of the attribute `status`, and the flag values of
/// an ensemble's variable.
enum class Status {
  running,
  complete,
  steady,
  diverged,
  step_limit,
  underflow,
  interrupted,
  stuck
};

inline constexpr std::array<const char*, 8> status_words = {
    "running", "complete", "steady", "diverged", "step_limit", "underflow", "interrupted", "stuck"};

inline Status status_of(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
      return Status::complete;
    case Outcome::Kind::steady:
      return Status::steady;
    case Outcome::Kind::diverged:
      return Status::diverged;
    case Outcome::Kind::step_limit:
      return Status::step_limit;
    case Outcome::Kind::underflow:
      return Status::underflow;
    case Outcome::Kind::interrupted:
      return Status::interrupted;
    case Outcome::Kind::stuck:
      return Status::stuck;
  }
  return Status::running;
}

/// How a run stands that ended so and is extended: one that was complete has further to go.
inline std::int64_t status_when_extended(std::int64_t status) {
  return status == static_cast<std::int64_t>(Status::complete)
             ? static_cast<std::int64_t>(Status::running)
             : status;
}

inline std::string status_word(Status status) {
  return status_words[static_cast<std::size_t>(status)];
}

}  // namespace popflow
