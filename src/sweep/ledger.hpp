#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace popflow {

/// Runs that follow one another: run r of cell c has the number c * runs + r.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

/// Which runs are yet to be computed. Thread-safe.
class Ledger {
 public:
  /// To be computed, too; stretches do not overlap.
  void add(Stretch stretch);
  /// The first runs that nobody has claimed, `most` of them at most; none if there are none.
  std::optional<Stretch> claim(std::uint64_t most);
  /// Runs that were claimed and not computed.
  void give_back(Stretch stretch) { add(stretch); }
  /// Runs that nobody has claimed.
  [[nodiscard]] std::uint64_t left() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> stretches_;  ///< counts by the first
  std::uint64_t left_ = 0;
};

}  // namespace popflow
