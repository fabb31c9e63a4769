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

/// Everything from which a sweep is computed. Writes nothing to the disk.
struct Sweep {
  Cells cells;
  SweepColumns columns;
  std::optional<Reduction> reduction;

  /// Throws the refusal of the options or of the first cell.
  Sweep(const RunConfig& config, const Catalogue& catalogue, Workers& workers);
  [[nodiscard]] const Reduction* reduced() const { return reduction ? &*reduction : nullptr; }
  [[nodiscard]] std::uint64_t all_runs() const { return cells.size() * cells.runs(); }
  /// Returns the number of threads that have something to do.
  [[nodiscard]] double busy(unsigned threads) const {
    return static_cast<double>(std::min<std::uint64_t>(threads, all_runs()));
  }
  /// Returns the bytes of the file's data, without variables along single axes.
  [[nodiscard]] double data_bytes() const;
  [[nodiscard]] GroupSpec layout(unsigned threads) const {
    return sweep_layout(cells, columns, reduced(), threads);
  }
};

}  // namespace popflow
