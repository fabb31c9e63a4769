#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/exchange.hpp"
#include "popflow/workers.hpp"

namespace popflow {

/// Computes runs, for one thread: the runs of a file, or those of a sweep's cells.
class RunComputer {
 public:
  RunComputer() = default;
  RunComputer(const RunComputer&) = delete;
  RunComputer& operator=(const RunComputer&) = delete;
  virtual ~RunComputer() = default;

  /// Computes runs of a range from its first on: those that go together, and more of them as long
  /// as `patient` says so. The batch tells how many; those that were interrupted may be among them.
  virtual Batch compute(RunRange range, const std::function<bool()>& patient) = 0;
  /// How many runs go together, as far as that is known.
  [[nodiscard]] virtual std::size_t together() const = 0;
};

/// Threads of a rank, and how each of them computes runs.
struct Crew {
  Workers& workers;
  std::uint64_t runs = 0;  ///< in all
  /// With fewer runs than that to compute, all threads share the work within each.
  std::uint64_t few = 0;
  /// A computer for one thread; `workers` serve what is parallel within a run. It looks at the
  /// exchange for whether it is to stop.
  std::function<std::unique_ptr<RunComputer>(Workers& workers, Exchange& exchange)> computer;
};

/// Computes on all threads of the crew what the exchange offers, until it offers nothing. A thread
/// claims runs for some milliseconds of work and gives back what takes longer, so that runs of
/// microseconds and runs of minutes both keep all threads busy. With `shared` the threads share the
/// work within each run instead. Rethrows what a run throws.
void compute_all(Exchange& exchange, const Crew& crew, bool shared);

}  // namespace popflow
