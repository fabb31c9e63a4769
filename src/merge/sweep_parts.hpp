#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// A file with some of the cells of a sweep.
struct SweepPart {
  std::string path;
  std::unique_ptr<Cells> cells;
  std::vector<std::int64_t> status;  ///< of each run, or of each cell of a reduced sweep

  /// Statuses of a cell: 1 of a reduced sweep.
  [[nodiscard]] std::size_t runs() const {
    return status.size() / static_cast<std::size_t>(cells->size());
  }
  /// Runs of a cell that have a status.
  [[nodiscard]] std::size_t finished(std::uint64_t cell) const;
};

/// Reads the files, and refuses what is no sweep: InputError.
std::vector<SweepPart> read_sweep_parts(const std::vector<std::string>& files,
                                        const Catalogue& catalogue);

/// The sweep that all are parts of; InputError if there is none.
RunConfig whole_sweep(const std::vector<SweepPart>& parts);

}  // namespace popflow
