#pragma once

#include <vector>

#include "flow/block_steps.hpp"
#include "flow/event_watch.hpp"
#include "flow/own_time.hpp"

namespace popflow {

/// The same for a state whose entries affect each other through one sum alone, by which all their
/// rates are divided (Separable::normalised): they do not affect each other in the time that goes
/// by without the division, and what all of them have grown by tells how late it is. Attempts that
/// would lead beyond the time that is asked for are made again to end there; others end where they
/// do.
class NormalisedDopri5 : public Stepper {
 public:
  static bool suits(const System& system);

  /// All must outlive it.
  NormalisedDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
                   const EventWatch& events, const Passages& passages);

  [[nodiscard]] bool adaptive() const override { return true; }
  [[nodiscard]] bool falls_short() const override { return true; }
  Trial attempt(const State& x, double t, double h, State& x_new) override;
  [[nodiscard]] bool divisible() const override { return most_steps_ > 1; }
  void accept() override { blocks_.accept(); }
  void reset() override;
  // As BlockDopri5 does.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }
  [[nodiscard]] const std::vector<Passed>* passed() const override { return &blocks_.passed(); }

 private:
  /// The length, in own time, of a stretch to try in which h goes by, or about it, or less; `rate`
  /// is that at its begin.
  [[nodiscard]] double stretch_for(double h, double rate);
  /// Turns the own times of passages, in a stretch of this length from t, into times.
  void time_passages(double t, double length);

  Workers& workers_;
  OwnTime clock_;
  BlockSteps blocks_;
  const EventWatch& events_;
  double longest_ = 0;  ///< stretch that the blocks' steps suggest next; 0: they do not
  int most_steps_ = 0;  ///< of any block in the last attempt
};

}  // namespace popflow
