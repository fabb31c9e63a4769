#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace popflow {

/// Range of consecutive runs: run r of cell c has the number c * runs + r.
struct RunRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
};

/// Runs that are still to be computed. Thread-safe.
class Ledger {
 public:
  /// Adds runs to be computed; ranges must not overlap.
  void add(RunRange range);
  /// Claims the first unclaimed runs, at most `most`; empty if there are none.
  std::optional<RunRange> claim(std::uint64_t most);
  /// Returns runs that were claimed but not computed.
  void give_back(RunRange range) { add(range); }
  /// Number of unclaimed runs.
  [[nodiscard]] std::uint64_t left() const;

 private:
  mutable std::mutex mutex_;
  /// Number of runs in each range, by its first run.
  std::map<std::uint64_t, std::uint64_t> ranges_;
  std::uint64_t left_ = 0;
};

}  // namespace popflow
