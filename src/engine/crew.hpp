#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/exchange.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// Computes runs of a file, or of the cells of a sweep, on one thread.
class RunComputer {
 public:
  RunComputer() = default;
  RunComputer(const RunComputer&) = delete;
  RunComputer& operator=(const RunComputer&) = delete;
  virtual ~RunComputer() = default;

  /// Computes runs from the start of a range: first those that move together, then more as long as
  /// `patient` returns true. The batch contains the number of computed runs; interrupted runs may
  /// be among them.
  virtual Batch compute(RunRange range, const std::function<bool()>& patient) = 0;
  /// Number of runs that are best computed together, as far as it is known.
  [[nodiscard]] virtual std::size_t together() const = 0;
};

/// Threads of a rank, and the way in which each of them computes runs.
struct Crew {
  Workers& workers;
  std::uint64_t runs = 0;  ///< total number of runs
  /// If fewer runs than this are to be computed, all threads share the work within each run.
  std::uint64_t few = 0;
  /// Creates the computer of one thread. `workers` are for parallel work within a run. The computer
  /// asks the exchange whether it must stop.
  std::function<std::unique_ptr<RunComputer>(Workers& workers, Exchange& exchange)> computer;
};

/// Computes the runs that the exchange offers, on all threads of the crew, until none are left. A
/// thread claims runs for some milliseconds of work and gives back the rest, so that runs of
/// microseconds and of minutes both keep all threads busy. If `shared`, the threads share the work
/// within each run instead. Rethrows exceptions of runs.
void compute_all(Exchange& exchange, const Crew& crew, bool shared);

}  // namespace popflow
