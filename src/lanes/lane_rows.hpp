#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "popflow/lanes.hpp"
#include "popflow/pack.hpp"

namespace popflow {

/// Number of steps in lanes between checks for interrupts and updates of progress.
inline constexpr std::int64_t kLaneStepsBetweenHooks = 64;

/// Rows of kLanes numbers, as LaneFormulas take them; each row is aligned to a cache line.
class LaneRows {
 public:
  LaneRows() : LaneRows(0) {}
  /// Allocates at least one row, so that the address is never null.
  explicit LaneRows(std::size_t rows) : rows_(std::max<std::size_t>(rows, 1)) {}

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  void resize(std::size_t rows) { rows_.resize(std::max<std::size_t>(rows, 1)); }
  [[nodiscard]] double* data() { return rows_.front().numbers; }
  [[nodiscard]] const double* data() const { return rows_.front().numbers; }
  /// Returns the rows as Packs for computations.
  template <std::size_t width>
  [[nodiscard]] BasicPack<width>* packs() {
    return reinterpret_cast<BasicPack<width>*>(data());
  }
  template <std::size_t width>
  [[nodiscard]] const BasicPack<width>* packs() const {
    return reinterpret_cast<const BasicPack<width>*>(data());
  }
  [[nodiscard]] double& at(std::size_t row, std::size_t lane) { return rows_[row].numbers[lane]; }
  [[nodiscard]] double at(std::size_t row, std::size_t lane) const {
    return rows_[row].numbers[lane];
  }

  /// Sets all numbers to 0.
  void clear() { std::fill(rows_.begin(), rows_.end(), Row()); }
  /// Copies the lanes of `from` where `lanes` (one number per lane) is not 0.
  void take(const double* lanes, const LaneRows& from);
  /// Reads a lane: one number from each row.
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
