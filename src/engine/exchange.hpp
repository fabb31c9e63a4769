#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ledger.hpp"

namespace popflow {

/// Computed runs, with their numbers, for the rank that writes them.
struct Batch {
  RunRange runs;
  // Rows of the runs and cells of a sweep.
  std::vector<double> run_rows;
  std::vector<double> cell_rows;
  std::vector<double> records = {};  ///< records of the runs of a file, packed by a Parcel
};

/// Receives computed runs, on the rank that writes the file. Thread-safe.
class BatchWriter {
 public:
  BatchWriter() = default;
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;
  virtual ~BatchWriter() = default;
  virtual void write(const Batch& batch) = 0;
};

/// Source of a process's work and destination of its results. Thread-safe.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  /// Claims at most `most` runs. Empty if everything is done or must stop.
  virtual std::optional<RunRange> claim(std::uint64_t most) = 0;
  virtual void give_back(RunRange range) = 0;
  virtual void deliver(Batch batch) = 0;
  /// Stops all claims, after an error.
  virtual void stop() = 0;
  /// Whether all threads must stop; asked before every step of a run.
  [[nodiscard]] virtual bool stopped() const = 0;
};

}  // namespace popflow
