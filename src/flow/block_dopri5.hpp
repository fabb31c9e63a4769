#pragma once

#include <vector>

#include "flow/block_steps.hpp"
#include "flow/event_watch.hpp"

namespace popflow {

/// How far an attempt leads, in steps of the block with the shortest: as many as it aims at, and as
/// many as it takes at most.
struct Reach {
  int aim, most;
};
/// What is watched for may come and go while a single token does, in some ten of its steps (a
/// shallow minimum of joma's entropy), and is seen at the ends of attempts alone. Where nothing is,
/// an attempt can be interrupted at its end.
Reach reach(const EventWatch& events);

/// Dormand and Prince's method for a state whose entries do not affect each other (Separable).
/// Blocks of entries follow the flow in steps of their own: a block in which much happens does not
/// shorten the steps of all others. An attempt is a stretch of time in which each takes several,
/// after which the caller looks at the whole state: few of them while there are events to be seen.
class BlockDopri5 : public Stepper {
 public:
  /// Is it worth while? Only for more than one block.
  static bool suits(const System& system);

  /// All must outlive it.
  BlockDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
              const EventWatch& events, const Passages& passages)
      : blocks_(rhs, system, tolerance, workers, passages), events_(events) {}

  [[nodiscard]] bool adaptive() const override { return true; }
  Trial attempt(const State& x, double t, double h, State& x_new) override;
  [[nodiscard]] bool divisible() const override { return most_steps_ > 1; }
  void accept() override { blocks_.accept(); }
  void reset() override { blocks_.reset(); }
  // Each block's step length is forgotten at a save.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }
  [[nodiscard]] const std::vector<Passed>* passed() const override { return &blocks_.passed(); }

 private:
  BlockSteps blocks_;
  const EventWatch& events_;
  int most_steps_ = 0;  ///< of any block in the last attempt
};

}  // namespace popflow
