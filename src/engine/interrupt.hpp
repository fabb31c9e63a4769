#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <optional>

#include "popflow/error.hpp"
#include "text/screen.hpp"

namespace popflow {

/// While it lives, SIGINT, SIGTERM and SIGHUP (unless that was ignored when the program began) are
/// noted instead of ending the program; another one, more than a second later, ends it as usual.
/// Restores the former handlers when it dies.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// The signal that came, or 0.
  static int signal();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

/// The exit code of a program that the signal ends.
ExitCode interrupted_code();

/// Thrown by look_for_signals(), to leave everything behind as it was.
struct Interrupted {};

/// Throws Interrupted if a signal has come.
void look_for_signals();

/// Does work that publishes its file last. Interrupted, it leaves nothing, says so, and the exit
/// code is returned.
std::optional<ExitCode> unless_interrupted(Screen& screen, const std::function<void()>& work);

}  // namespace popflow
