#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "popflow/lanes.hpp"

namespace popflow {

/// Steps in lanes after which it is asked for interruptions, and progress is shown.
inline constexpr std::int64_t kLaneStepsBetweenHooks = 64;

/// Rows of kLanes numbers, as LaneFormulas take them; each begins where a cache line does.
class LaneRows {
 public:
  /// At least one, so that there is always an address.
  explicit LaneRows(std::size_t rows) : rows_(std::max<std::size_t>(rows, 1)) {}

  [[nodiscard]] double* data() { return rows_.front().numbers; }
  [[nodiscard]] const double* data() const { return rows_.front().numbers; }
  [[nodiscard]] double& at(std::size_t row, std::size_t lane) { return rows_[row].numbers[lane]; }
  [[nodiscard]] double at(std::size_t row, std::size_t lane) const {
    return rows_[row].numbers[lane];
  }

  /// All to 0.
  void clear() { std::fill(rows_.begin(), rows_.end(), Row()); }
  /// One number for each row.
  void read(std::size_t lane, std::span<double> column) const {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows_[i].numbers[lane];
  }
  void write(std::size_t lane, std::span<const double> column) {
    for (std::size_t i = 0; i < column.size(); ++i) rows_[i].numbers[lane] = column[i];
  }

 private:
  struct alignas(64) Row {
    double numbers[kLanes] = {};
  };
  std::vector<Row> rows_;
};

}  // namespace popflow
