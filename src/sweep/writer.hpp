#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "engine/exchange.hpp"
#include "file/trajectory_file.hpp"
#include "sweep/columns.hpp"
#include "sweep/reduction.hpp"

namespace popflow {

/// Writes rows to a sweep's file; each run's status last, which marks the others as present. With a
/// reduction, writes each cell as soon as all its runs have arrived. Thread-safe.
class SweepWriter final : public BatchWriter {
 public:
  /// Synchronises the file to the disk at regular intervals.
  SweepWriter(TrajectoryFile& file, const Cells& cells, const SweepColumns& columns,
              const Reduction* reduction, double sync_every);

  void write(const Batch& batch) override;
  /// Returns the seconds that writing has taken so far.
  [[nodiscard]] double seconds() const { return seconds_.count(); }

 private:
  void write_table(const Table& table, const char* last, std::uint64_t first,
                   std::span<const double> rows);
  void write_column(const Column& column, std::uint64_t first, std::span<const double> rows,
                    std::size_t width);
  void reduce(const Batch& batch);

  TrajectoryFile& file_;
  const SweepColumns& columns_;
  const Reduction* reduction_;
  std::uint64_t runs_;  ///< runs per cell
  std::mutex mutex_;
  std::map<std::uint64_t, Reduction::Cell> open_;
  std::chrono::duration<double> seconds_{0};
  std::chrono::duration<double> sync_every_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace popflow
