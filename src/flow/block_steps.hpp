#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flow/own_time.hpp"
#include "flow/passages.hpp"
#include "popflow/capabilities.hpp"
#include "popflow/workers.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// The blocks of a state whose entries do not affect each other (Separable), each of which
/// follows Dormand and Prince's method in steps of its own, all stages of which find it in the
/// cache. Passages are located in the blocks' own steps.
class BlockSteps {
 public:
  /// All must outlive it.
  BlockSteps(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
             const Passages& passages);

  /// What a stretch of time came to.
  struct Stretch {
    /// How far the slowest block got that gave up, its steps too small or too many; infinite: none
    /// did.
    double followed = std::numeric_limits<double>::infinity();
    bool finite = true;  ///< false: it gave up at a NaN or an infinity
    double next = std::numeric_limits<double>::infinity();  ///< shortest step to try next
    int most_steps = 0;                                     ///< of any block
  };
  /// Of a block's steps: how many it may take, and how short ones. Those that do not move t are too
  /// short anyway.
  struct Limits {
    int most;
    double shortest = 0;
  };
  /// Takes all blocks from x at t to t + h; those that get there are written to x_new.
  Stretch follow(const State& x, double t, double h, const Limits& limits, State& x_new);
  /// The passages of the last stretch.
  [[nodiscard]] std::vector<Passed>& passed() { return passed_; }
  [[nodiscard]] const std::vector<Passed>& passed() const { return passed_; }
  /// Its end is where the next begins.
  void accept();
  /// Nothing is known of where the next begins.
  void reset();

  // For a flow in a time of its own (Separable::normalised), which t is then above.
  /// Has its clock know the steps of each stretch.
  void set(OwnTime& clock) { clock_ = &clock; }
  /// The sum of all slopes at x, where the next stretch begins.
  [[nodiscard]] double rate(const State& x);
  /// And, when that is known, after a step of Euler's.
  [[nodiscard]] double rate_after(double h);
  /// And where the last stretch ends.
  [[nodiscard]] double rate_at_end();
  /// Moves the end of the last stretch, at t, to where the sum of all entries is larger by
  /// `growth`, which is small, and writes all blocks to x_new.
  void nudge(double t, double growth, State& x_new);

 private:
  struct Block;
  struct Desk;
  struct Task;
  /// Groups of blocks that a thread takes at once.
  [[nodiscard]] std::size_t groups() const;
  /// Calls body(task, first, last) for these, on all threads.
  template <class Body>
  void each_task(Body&& body);
  template <class Body>
  double sum_of_blocks(Body&& body);
  [[nodiscard]] Block block(std::size_t number) const;
  /// Reads a block's begin from x.
  void load(const State& x, double t, const Block& block, std::int64_t& evaluated);
  /// Writes a block's end to x_new.
  void write(const Block& block, State& x_new) const;
  void slope(const Block& block, const double* x, double t, double* out,
             std::int64_t& evaluated) const;
  /// Adds to the number of right-hand sides that of so many entries'.
  void count(std::int64_t evaluated);
  /// Follows a block over the stretch; false: it gave up after `block.followed`.
  bool follow(Desk& desk, double t, double h, const Limits& limits, Block& block, Task& task);
  void locate(Desk& desk, std::size_t begin, std::size_t count, double t, double h,
              std::vector<Passed>& passed) const;

  [[nodiscard]] std::size_t entry(std::size_t place) const {
    return order_.empty() ? place : order_[place];
  }
  /// The number of a place's item i that may pass.
  [[nodiscard]] std::size_t item(std::size_t i, std::size_t place) const {
    return i * x_.size() + entry(place);
  }

  Rhs& rhs_;
  Capability<Separable> separable_;
  std::size_t block_;  ///< entries of a block
  std::span<const std::size_t> order_;
  bool jumps_;
  const Tolerance& tolerance_;
  double scale_;  ///< the state's natural scale
  Workers& workers_;
  const Passages& passages_;
  std::size_t items_;  ///< of an entry, that may pass
  OwnTime* clock_ = nullptr;
  /// States and slopes at both ends of the stretch, in the order of parts.
  State x_, x_new_, slopes_, slopes_new_;
  bool known_ = false;           ///< x_ and slopes_ are
  std::vector<double> lengths_;  ///< of each block's next step; 0: that of the stretch
  std::vector<Passed> passed_;
};

}  // namespace popflow
