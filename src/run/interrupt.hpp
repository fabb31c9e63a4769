#pragma once

namespace popflow {

/// While it lives, SIGINT, SIGTERM and SIGHUP (unless that was ignored when the program began) are
/// noted instead of ending the program; a second one ends it as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// The signal that came, or 0.
  static int signal();
};

}  // namespace popflow
