#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flow/passages.hpp"
#include "flow/rescaled_time.hpp"
#include "popflow/capabilities.hpp"
#include "popflow/workers.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// Integrates the blocks of a state whose entries do not affect each other (Separable). Each block
/// takes its own steps of Dormand and Prince's method, and stays in the cache for all stages.
/// Passages are located within the blocks' own steps.
class BlockSteps {
 public:
  /// All arguments must outlive the object.
  BlockSteps(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
             const Passages& passages);

  /// Result of integrating over a stretch of time.
  struct Stretch {
    /// Distance covered by the slowest block that gave up, because its steps were too small or too
    /// many; infinite if no block gave up.
    double covered = std::numeric_limits<double>::infinity();
    bool finite = true;  ///< false if a block stopped at a NaN or an infinity
    /// Shortest step that a block suggests next.
    double next = std::numeric_limits<double>::infinity();
    int most_steps = 0;  ///< largest number of any block
  };
  /// Limits on a block's steps: their number and the shortest length. A step that does not move t
  /// is always too short.
  struct Limits {
    int most;
    double shortest = 0;
  };
  /// Integrates all blocks from x at t to t + h; writes the blocks that reach the end to x_new.
  Stretch follow(const State& x, double t, double h, const Limits& limits, State& x_new);
  /// Passages found in the last stretch.
  [[nodiscard]] std::vector<Passed>& passed() { return passed_; }
  [[nodiscard]] const std::vector<Passed>& passed() const { return passed_; }
  /// Accepts the last stretch: the next one begins at its end.
  void accept();
  /// Discards what is known about the start of the next stretch.
  void reset();

  /// Sets the clock of a flow that is integrated in rescaled time (Separable::normalised). `t` in
  /// the functions above is then the rescaled time. Each stretch adds its steps to the clock.
  void set(RescaledTime& clock) { clock_ = &clock; }
  /// Sum of all slopes at x, where the next stretch begins.
  [[nodiscard]] double rate(const State& x);
  /// Sum of all slopes after an Euler step of length h; needs rate() first.
  [[nodiscard]] double rate_after(double h);
  /// Sum of all slopes at the end of the last stretch.
  [[nodiscard]] double rate_at_end();
  /// Moves the end of the last stretch, at t, so that the sum of all entries grows by `growth`
  /// (small). Writes all blocks to x_new.
  void nudge(double t, double growth, State& x_new);

 private:
  struct Block;
  struct Desk;
  struct Task;
  /// Number of groups of blocks; a thread takes a whole group at a time.
  [[nodiscard]] std::size_t groups() const;
  /// Calls body(task, first, last) for all groups, on all threads.
  template <class Body>
  void each_task(Body&& body);
  template <class Body>
  double sum_of_blocks(Body&& body);
  [[nodiscard]] Block block(std::size_t number) const;
  /// Reads the block's start from x.
  void load(const State& x, double t, const Block& block, std::int64_t& evaluated);
  /// Writes the block's end to x_new.
  void write(const Block& block, State& x_new) const;
  void slope(const Block& block, const double* x, double t, double* out,
             std::int64_t& evaluated) const;
  /// Counts `evaluated` entries of slopes as evaluations of the right-hand side.
  void count(std::int64_t evaluated);
  /// Integrates a block over the stretch. Returns false if the block gave up after
  /// `block.covered`.
  bool follow(Desk& desk, double t, double h, const Limits& limits, Block& block, Task& task);
  void locate(Desk& desk, std::size_t begin, std::size_t count, double t, double h,
              std::vector<Passed>& passed) const;

  [[nodiscard]] std::size_t entry(std::size_t place) const {
    return order_.empty() ? place : order_[place];
  }
  /// Index, among all items, of item i of the entry at a place.
  [[nodiscard]] std::size_t item(std::size_t i, std::size_t place) const {
    return i * x_.size() + entry(place);
  }

  Rhs& rhs_;
  Capability<Separable> separable_;
  std::size_t block_;  ///< entries per block
  std::span<const std::size_t> order_;
  bool jumps_;
  const Tolerance& tolerance_;
  double scale_;  ///< natural scale of the state
  Workers& workers_;
  const Passages& passages_;
  std::size_t items_;  ///< passage items per entry
  RescaledTime* clock_ = nullptr;
  /// States and slopes at both ends of the stretch, in the order of the parts.
  State x_, x_new_, slopes_, slopes_new_;
  bool known_ = false;           ///< whether x_ and slopes_ are valid
  std::vector<double> lengths_;  ///< next step length of each block; 0: the whole stretch
  std::vector<Passed> passed_;
};

}  // namespace popflow
