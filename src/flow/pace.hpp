#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "popflow/driver.hpp"

namespace popflow {

/// How far the accepted steps of a flow lead, to tell in time that its end is out of reach: where
/// an explicit method meets a rate that never subsides, it would crawl for days.
///
/// It looks back on 100 000 steps in five equal blocks. A stiff phase that a run passes takes
/// fewer, or speeds up while it is left: the estimate lets the pace grow on as it has grown over
/// the blocks.
class Pace {
 public:
  /// A run starts at 0.
  Pace() {
    times_.fill(-1);
    times_.back() = 0;
  }

  /// The run is at t after `accepted` steps in all.
  void update(std::int64_t accepted, double t);

  /// Has a block ended just now after which the end is more steps away than any run may take: than
  /// `max_steps`, and than 1e8, the limit of a run without an opinion?
  [[nodiscard]] bool hopeless(std::int64_t accepted, double end, std::int64_t max_steps) const;
  /// "at the pace of the last 100000 steps the end is about 1e12 steps away".
  [[nodiscard]] std::string sentence(double end) const;

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  static constexpr std::int64_t kBlock = 20'000;  ///< steps
  static constexpr std::size_t kBlocks = 5;
  /// Steps to the end; 0 until there are as many blocks.
  [[nodiscard]] double steps_to(double end) const;

  /// Where the blocks begin and end, newest last; negative: not there yet.
  std::array<double, kBlocks + 1> times_{};
};

}  // namespace popflow
