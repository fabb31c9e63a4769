#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "flow/dopri5_rows.hpp"
#include "lane_rows.hpp"
#include "popflow/error_norm.hpp"
#include "popflow/lanes.hpp"

namespace popflow {

/// Steps of Dormand and Prince's method, of a length of its own in each lane.
class LaneDopri5 {
 public:
  LaneDopri5(const LaneFormulas& formulas, ErrorNorm norm);
  LaneDopri5(const LaneDopri5&) = delete;
  LaneDopri5& operator=(const LaneDopri5&) = delete;

  // What a step begins with; the caller fills its lanes.
  LaneRows of;         ///< the formulas' parameters
  LaneRows x;          ///< the state
  LaneRows tolerance;  ///< absolute, of each entry; then, in the last row, relative
  LaneRows h;          ///< one row: the length

  /// Evaluates dx/dt where `fresh`, one number a lane, is not 0; other lanes know it from their
  /// last step.
  void begin(const double* fresh);
  /// Takes a step. Its result is in x_new, error and factor until one more is taken.
  void attempt();
  /// Makes the result the state where `accepted`, too, is not 0.
  void accept(const double* accepted);

  LaneRows x_new;
  LaneRows error;   ///< one row: accepted if at most 1; not finite if anything was not
  LaneRows factor;  ///< one row: by which the next step should be longer (steppers/stepper.hpp)

  /// dx/dt at the begin of the step.
  [[nodiscard]] const LaneRows& slope() const { return k_[0]; }
  /// The slopes of a lane's last attempt, entry by entry: seven each.
  void stages(std::size_t lane, std::span<std::array<double, 7>> slopes) const;

 private:
  const LaneFormulas formulas_;
  ErrorNorm norm_;
  std::size_t entries_;
  std::vector<LaneRows> k_;
  std::vector<dopri5::Slopes> slopes_;  ///< the rows of k_, entry by entry
  LaneRows between_;
};

}  // namespace popflow
