#pragma once

#include <vector>

#include "flow/block_steps.hpp"
#include "flow/event_watch.hpp"

namespace popflow {

/// Reach of an attempt, in steps of the block with the shortest step: the target and the maximum.
struct Reach {
  int aim, most;
};
/// Reach of attempts, given the watched events. Events are searched for only at the end of an
/// attempt, but may come and go within about ten steps of a single token (a shallow minimum of
/// joma's entropy). Attempts are therefore short while events are watched. Without events they are
/// long, but not so long that an interrupt would have to wait.
Reach reach(const EventWatch& events);

/// Dormand and Prince's method for a state whose entries do not affect each other (Separable).
/// Blocks of entries choose their own step sizes, so that a fast block does not shorten the steps
/// of all others. An attempt is a stretch of time in which each block takes several steps; the
/// caller sees the whole state only at its end. Attempts are short while events are watched.
class BlockDopri5 : public Stepper {
 public:
  /// Returns whether the method pays off for `system`, which must have more than one block.
  static bool suits(const System& system);

  /// All arguments must outlive the stepper.
  BlockDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
              const EventWatch& events, const Passages& passages)
      : blocks_(rhs, system, tolerance, workers, passages), events_(events) {}

  [[nodiscard]] bool adaptive() const override { return true; }
  Trial attempt(const State& x, double t, double h, State& x_new) override;
  [[nodiscard]] bool divisible() const override { return most_steps_ > 1; }
  void accept() override { blocks_.accept(); }
  void reset() override { blocks_.reset(); }
  // A save discards the step lengths of the blocks.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }
  [[nodiscard]] const std::vector<Passed>* passed() const override { return &blocks_.passed(); }

 private:
  BlockSteps blocks_;
  const EventWatch& events_;
  int most_steps_ = 0;  ///< largest number of steps of any block in the last attempt
};

}  // namespace popflow
