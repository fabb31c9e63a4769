#pragma once

#include <optional>

#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/ledger.hpp"
#include "sweep/refusal.hpp"
#include "sweep/writer.hpp"

namespace popflow {

/// What a sweep is computed with, on every rank.
struct Crew {
  const Cells& cells;
  const Columns& columns;
  const Catalogue& catalogue;
  Workers& workers;
  Refusals& refusals;
};

/// Where a process gets its work from and brings its results to. Thread-safe.
class Exchange {
 public:
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

/// Computes on all threads of the crew what the exchange offers, until it offers nothing. A thread
/// claims runs for some milliseconds of work and gives back what takes longer, so that cells of
/// microseconds and cells of minutes keep all threads busy. With `together` the threads share the
/// work within each run instead. Rethrows what a run throws.
void compute_all(Exchange& exchange, const Crew& crew, bool together);

}  // namespace popflow
