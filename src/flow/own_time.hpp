#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "popflow/workers.hpp"
#include "steppers/dopri5_tableau.hpp"

namespace popflow {

/// A clock of blocks that follow their slopes in a time of their own, of which t is known by what
/// all of them together have grown by: dt = sum of all slopes * d(own time). A stretch of own time
/// begins at 0.
class OwnTime {
 public:
  /// A step that a block took.
  struct Step {
    double begin = 0, length = 0;                  ///< own time
    std::array<double, dopri5::kStages> slopes{};  ///< sums over the block's entries
  };

  /// A stretch of so many blocks begins.
  void begin(std::size_t blocks);
  /// The block that has this number takes a step. Blocks may do so on threads of their own.
  void add(std::size_t block, const Step& step);

  /// By how much t has grown after own time `tau`: by the continuous extension of the blocks'
  /// steps, of order four.
  [[nodiscard]] double gone(double tau) const;
  /// The own time, up to `end`, at which t has grown by h, no more than it has by then.
  [[nodiscard]] double when_gone(double h, double end) const;

  /// The same as gone() for many times, none of which lies far behind the stretch's `end`: by
  /// polynomials of degree five between places of which every step of a block holds a few.
  class Table {
   public:
    Table(const OwnTime& clock, double end, Workers& workers);
    [[nodiscard]] double gone(double tau) const;

   private:
    std::vector<double> places_, gone_;
  };

 private:
  /// And by how much the block's sum grew in it, and before.
  struct Taken : Step {
    double growth = 0, grown = 0;
  };
  [[nodiscard]] std::vector<double> places(double end) const;
  std::vector<std::vector<Taken>> blocks_;
};

}  // namespace popflow
