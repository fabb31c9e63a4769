#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/layout.hpp"
#include "sweep/reduction.hpp"

namespace popflow {

/// All that a sweep is made from. Makes nothing on disk.
struct Sweep {
  Cells cells;
  SweepColumns columns;
  std::optional<Reduction> reduction;

  /// Throws what its options and its first cell are refused for.
  Sweep(const RunConfig& config, const Catalogue& catalogue, Workers& workers);
  [[nodiscard]] const Reduction* reduced() const { return reduction ? &*reduction : nullptr; }
  [[nodiscard]] std::uint64_t all_runs() const { return cells.size() * cells.runs(); }
  /// Threads that have something to do.
  [[nodiscard]] double busy(unsigned threads) const {
    return static_cast<double>(std::min<std::uint64_t>(threads, all_runs()));
  }
  /// Bytes that the file holds, without variables along single axes.
  [[nodiscard]] double data_bytes() const;
  [[nodiscard]] GroupSpec layout(unsigned threads) const {
    return sweep_layout(cells, columns, reduced(), threads);
  }
};

}  // namespace popflow
