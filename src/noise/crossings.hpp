#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noise/guarded_state.hpp"
#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Events and first passages of a run that moves by steps of its own: what is beyond its level
/// after a step has happened at that step's time. Noisy paths have no finer crossing to locate.
/// Large states are looked at every few steps only (steps_between_looks()), and at targets.
class Crossings {
 public:
  explicit Crossings(const System& system);
  /// Looks at the state after `step` steps, at time t, if it is due, or now. The start is step 0.
  void look(const State& x, double t, std::int64_t step, bool now);

  [[nodiscard]] const std::vector<FoundEvent>& events() const { return events_; }
  [[nodiscard]] const std::vector<double>& passages() const { return passages_; }

  [[nodiscard]] std::size_t memory_size() const { return 2 * happened_.size() + passages_.size(); }
  void write_memory(std::vector<double>& memory) const;
  /// Reads what write_memory() wrote.
  void restore(std::span<const double> memory);

 private:
  [[nodiscard]] bool armed(std::size_t event) const;
  const System& system_;
  std::vector<bool> happened_;
  std::vector<FoundEvent> events_;
  std::vector<double> passages_;
  std::vector<double> values_, items_;
  std::size_t left_ = 0;  ///< passages that have not happened
};

}  // namespace popflow
