#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace popflow {

/// Runs that follow one another: run r of cell c has the number c * runs + r.
struct RunRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

/// Which runs are yet to be computed. Thread-safe.
class Ledger {
 public:
  /// To be computed, too; ranges do not overlap.
  void add(RunRange range);
  /// The first runs that nobody has claimed, `most` of them at most; none if there are none.
  std::optional<RunRange> claim(std::uint64_t most);
  /// Runs that were claimed and not computed.
  void give_back(RunRange range) { add(range); }
  /// Runs that nobody has claimed.
  [[nodiscard]] std::uint64_t left() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< counts by the first
  std::uint64_t left_ = 0;
};

}  // namespace popflow
