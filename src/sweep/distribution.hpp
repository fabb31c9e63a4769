#pragma once

#include <cstdint>
#include <functional>

#include "sweep/crew.hpp"
#include "sweep/ledger.hpp"
#include "sweep/ranks.hpp"
#include "sweep/writer.hpp"

namespace popflow {

/// How the work was shared out.
struct Traffic {
  std::int64_t messages = 0;  ///< that the first rank sent and received
  double writing = 0;         ///< seconds in which it wrote
};

/// Computes all runs in the ledger, on the threads of this process and of all other ranks, and
/// writes them. For the first rank, which alone writes; of its threads only the calling one speaks
/// to others. `progress` is called with the number of runs done. Ends early when a signal has come.
/// Rethrows what went wrong on any rank.
Traffic share_out(Ranks& ranks, Ledger& ledger, SweepWriter& writer, const Crew& crew,
                  const std::function<void(std::uint64_t)>& progress);

/// Computes what the first rank grants. For all other ranks.
void take_part(Ranks& ranks, const Crew& crew);

}  // namespace popflow
