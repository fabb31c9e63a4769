#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "popflow/data_file.hpp"
#include "run/status.hpp"

namespace popflow {

/// How a run of a sweep has ended: the words of `status` in its file.
enum class CellStatus {
  missing,
  complete,
  steady,
  diverged,
  step_limit,
  underflow,
  refused,
  stuck
};
const std::vector<std::string>& cell_status_words();
CellStatus cell_status(Outcome::Kind kind);
/// Did the run end as it was meant to?
bool ended_well(CellStatus status);

/// How many runs (or reduced cells) have ended how.
class StatusCounts {
 public:
  StatusCounts() : counts_(cell_status_words().size()) {}
  /// Those in a sweep's file.
  explicit StatusCounts(const DataFile& file);

  void add(std::int64_t status);
  [[nodiscard]] std::uint64_t operator[](CellStatus status) const {
    return counts_[static_cast<std::size_t>(status)];
  }
  [[nodiscard]] std::uint64_t all() const;
  /// "120 complete, 3 diverged"
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace popflow
