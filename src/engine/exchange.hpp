#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ledger.hpp"

namespace popflow {

/// Runs that were computed, and their numbers on the way to the rank that writes them.
struct Batch {
  RunRange runs;
  // Rows of the runs of a sweep, and of their cells.
  std::vector<double> run_rows;
  std::vector<double> cell_rows;
  std::vector<double> records = {};  ///< of the runs of a file: as a Parcel packs them
};

/// Takes what was computed, on the rank that has the file. Thread-safe.
class BatchWriter {
 public:
  BatchWriter() = default;
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;
  virtual ~BatchWriter() = default;
  virtual void write(const Batch& batch) = 0;
};

/// Where a process gets its work from and brings its results to. Thread-safe.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  /// Runs to be computed, `most` of them at most; none when all is done or has to stop.
  virtual std::optional<RunRange> claim(std::uint64_t most) = 0;
  virtual void give_back(RunRange range) = 0;
  virtual void deliver(Batch batch) = 0;
  /// Nobody claims anything from now on: something went wrong.
  virtual void stop() = 0;
  /// Is everybody to stop? Asked before every step of a run.
  [[nodiscard]] virtual bool stopped() const = 0;
};

}  // namespace popflow
