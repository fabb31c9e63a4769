#pragma once

#include <span>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Events and first passages of a run that moves by steps of its own: what is beyond its level
/// after a step has happened at that step's time. Noisy paths have no finer crossing to locate.
class Crossings {
 public:
  explicit Crossings(const System& system);
  void look(const State& x, double t);

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
