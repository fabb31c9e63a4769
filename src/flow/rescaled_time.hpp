#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "popflow/workers.hpp"
#include "steppers/dopri5_tableau.hpp"

namespace popflow {

/// Maps the blocks' rescaled time to the flow time t, which follows from the growth of the sum of
/// all entries: dt = sum of all slopes * d(rescaled time). A stretch of rescaled time begins at 0.
class RescaledTime {
 public:
  /// Step taken by a block.
  struct Step {
    double begin = 0, length = 0;                  ///< in rescaled time
    std::array<double, dopri5::kStages> slopes{};  ///< sums over the block's entries
  };

  /// Begins a stretch of this many blocks.
  void begin(std::size_t blocks);
  /// Adds a step of the block with this number. Different threads may add steps of different
  /// blocks.
  void add(std::size_t block, const Step& step);

  /// Flow time elapsed after the rescaled time `tau`, from the fourth-order dense output of the
  /// blocks' steps.
  [[nodiscard]] double elapsed(double tau) const;
  /// Rescaled time, up to `end`, at which the elapsed flow time is h. By `end` at least h must have
  /// elapsed.
  [[nodiscard]] double when_elapsed(double h, double end) const;

  /// Table of elapsed() for many times, none of which lies far beyond the stretch's `end`. It
  /// interpolates by polynomials of degree five. The nodes are so close that each step of a block
  /// contains a few.
  class Table {
   public:
    Table(const RescaledTime& clock, double end, Workers& workers);
    [[nodiscard]] double elapsed(double tau) const;

   private:
    std::vector<double> places_, elapsed_;
  };

 private:
  /// A step, the growth of the block's sum within the step, and the growth before it.
  struct Taken : Step {
    double growth = 0, grown = 0;
  };
  [[nodiscard]] std::vector<double> places(double end) const;
  std::vector<std::vector<Taken>> blocks_;
};

}  // namespace popflow
