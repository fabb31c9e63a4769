#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/event_watch.hpp"
#include "flow/passages.hpp"
#include "popflow/capabilities.hpp"
#include "popflow/workers.hpp"
#include "steppers/stepper.hpp"

namespace popflow {

/// Dormand and Prince's method for a state whose entries feel nothing of each other (Separable).
/// Blocks of entries follow the flow in steps of their own: a block in which much happens does not
/// shorten the steps of all others, and all stages of a step find it in the cache. An attempt is a
/// stretch of time in which each takes several, after which the caller looks at the whole state:
/// few of them while there are events to be seen. Passages are located in the blocks' own steps.
class BlockDopri5 : public Stepper {
 public:
  /// Entries of a block.
  static constexpr std::size_t kBlock = 256;
  /// Is it worth while? Only for more than one block.
  static bool suits(const System& system);

  /// All must outlive it.
  BlockDopri5(Rhs& rhs, const System& system, const Tolerance& tolerance, Workers& workers,
              const EventWatch& events, const Passages& passages);

  [[nodiscard]] bool adaptive() const override { return true; }
  Trial attempt(const State& x, double t, double h, State& x_new) override;
  [[nodiscard]] bool divisible() const override { return most_steps_ > 1; }
  void accept() override;
  void reset() override;
  // Each block's step length is forgotten at a save.
  [[nodiscard]] bool resumes_anywhere() const override { return false; }
  [[nodiscard]] const std::vector<Passed>* passed() const override { return &passed_; }

 private:
  struct Block;
  struct Desk;
  struct Task;
  /// Follows a block over the stretch; false: its steps became too small, or too many, at
  /// `reached`.
  bool follow(Desk& desk, double t, double h, int most, Block& block, Task& task);
  void locate(Desk& desk, std::size_t begin, std::size_t count, double t, double h,
              std::vector<Passed>& passed) const;

  [[nodiscard]] std::size_t entry(std::size_t place) const {
    return order_.empty() ? place : order_[place];
  }

  Rhs& rhs_;
  Capability<Separable> separable_;
  std::span<const std::size_t> order_;
  const Tolerance& tolerance_;
  double scale_;  ///< the state's natural scale
  Workers& workers_;
  const EventWatch& events_;
  const Passages& passages_;
  std::size_t items_;  ///< of an entry, that may pass
  /// States and slopes at both ends of the attempt, in the order of parts.
  State x_, x_new_, slopes_, slopes_new_;
  bool known_ = false;           ///< x_ and slopes_ are
  int most_steps_ = 0;           ///< of any block in the last attempt
  std::vector<double> lengths_;  ///< of each block's next step; 0: that of the attempt
  std::vector<Passed> passed_;
};

}  // namespace popflow
