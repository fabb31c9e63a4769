#pragma once

#include <vector>

#include "flow/block_steps.hpp"
#include "flow/event_watch.hpp"
#include "flow/rescaled_time.hpp"

namespace popflow {

/// BlockDopri5 for a state whose entries affect each other only through one sum that divides all
/// rates (Separable::normalised). In the rescaled time without this division, the entries are
/// independent. The growth of their sum gives the flow time. An attempt that would pass the
/// requested time is repeated, so that it ends there. All other attempts end at the end of their
/// stretch of rescaled time.
class NormalisedDopri5 : public Stepper {
 public:
  static bool suits(const System& system);

  /// All arguments must outlive the stepper.
  NormalisedDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
                   const EventWatch& events, const Passages& passages);

  [[nodiscard]] bool adaptive() const override { return true; }
  [[nodiscard]] bool falls_short() const override { return true; }
  Trial attempt(const State& x, double t, double h, State& x_new) override;
  [[nodiscard]] bool divisible() const override { return most_steps_ > 1; }
  void accept() override { blocks_.accept(); }
  void reset() override;
  // A save discards the step lengths of the blocks.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }
  [[nodiscard]] const std::vector<Passed>* passed() const override { return &blocks_.passed(); }

 private:
  /// Length, in rescaled time, of a stretch that covers a flow time of about h or less; `rate` is
  /// the rate at its start.
  [[nodiscard]] double stretch_for(double h, double rate);
  /// Converts the rescaled times of passages, in a stretch of this length from t, to flow times.
  void time_passages(double t, double length);

  Workers& workers_;
  RescaledTime clock_;
  BlockSteps blocks_;
  const EventWatch& events_;
  /// Stretch that the step sizes of the blocks suggest next; 0: none.
  double longest_ = 0;
  int most_steps_ = 0;  ///< largest number of steps of any block in the last attempt
};

}  // namespace popflow
