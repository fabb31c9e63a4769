#pragma once

#include "engine/crew.hpp"
#include "popflow/catalogue.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/refusal.hpp"

namespace popflow {

/// Data that every rank needs to compute a sweep.
struct SweepWork {
  const Cells& cells;
  const SweepColumns& columns;
  const Catalogue& catalogue;
  Workers& workers;
  Refusals& refusals;
};

/// Makes the crew of a sweep, in which run r of cell c has the number c * runs + r. `work` must
/// outlive the crew.
Crew crew_of(const SweepWork& work);

}  // namespace popflow
