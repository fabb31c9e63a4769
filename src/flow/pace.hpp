#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "popflow/driver.hpp"

namespace popflow {

/// Estimates the number of steps that a flow still needs, so that a run whose end is out of reach
/// stops early. Without this estimate, an explicit method on a stiff problem would run for days.
///
/// The estimate uses the last 100 000 steps, in five equal blocks, and extrapolates the growth of
/// the pace over the blocks. Short stiff phases do not mislead it: they take fewer steps, or speed
/// up as they end.
class Pace {
 public:
  /// Begins a run at time 0.
  Pace() {
    times_.fill(-1);
    times_.back() = 0;
  }

  /// Records that the run is at t after `accepted` steps in all.
  void update(std::int64_t accepted, double t);

  /// Whether a block has just ended and the end is more than `max_steps` steps away, and more than
  /// 1e8 (the default limit).
  [[nodiscard]] bool out_of_reach(std::int64_t accepted, double end, std::int64_t max_steps) const;
  /// "at the pace of the last 100000 steps the end is about 1e12 steps away".
  [[nodiscard]] std::string sentence(double end) const;

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  static constexpr std::int64_t kBlock = 20'000;  ///< number of steps
  static constexpr std::size_t kBlocks = 5;
  /// Estimated steps to the end; 0 until enough blocks are complete.
  [[nodiscard]] double steps_to(double end) const;

  /// Times at the block boundaries, newest last; negative if not reached yet.
  std::array<double, kBlocks + 1> times_{};
};

}  // namespace popflow
