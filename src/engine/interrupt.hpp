#pragma once

#include <array>
#include <csignal>

#include "popflow/error.hpp"

namespace popflow {

/// Records SIGINT, SIGTERM and SIGHUP, as long as it exists, instead of letting them end the
/// program. (SIGHUP stays ignored if it was ignored when the program began.) A second signal, more
/// than a second later, ends the program as usual. The destructor restores the former handlers.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// The signal that arrived, or 0.
  static int signal();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

/// Exit code of a program that this signal ends.
ExitCode interrupted_code();

/// Thrown by throw_if_interrupted(), so that the caller unwinds and changes nothing.
struct Interrupted {};

/// Throws Interrupted if a signal has arrived.
void throw_if_interrupted();

}  // namespace popflow
