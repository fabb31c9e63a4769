#pragma once

#include <array>
#include <string>

#include "popflow/outcome.hpp"

namespace popflow {

/// How a run stands, as files say it: the words of the attribute `status`, and the flag values of
/// an ensemble's variable.
enum class Status { running, complete, steady, diverged, step_limit, underflow, interrupted };

inline constexpr std::array<const char*, 7> status_words = {
    "running", "complete", "steady", "diverged", "step_limit", "underflow", "interrupted"};

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
  }
  return Status::running;
}

inline std::string status_word(Status status) {
  return status_words[static_cast<std::size_t>(status)];
}

}  // namespace popflow
