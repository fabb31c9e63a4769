#pragma once

#include <string>
#include <vector>

#include "popflow/driver.hpp"
#include "support/catch.hpp"

namespace popflow::test {

/// Counts, steps of the last interval, events and first-passage times of a flow, as text, so that
/// NaNs are equal.
inline std::string history_of(const Driver& driver) {
  const StepStatistics counts = driver.statistics();
  std::vector<double> all = {static_cast<double>(counts.evaluations),
                             static_cast<double>(counts.accepted),
                             static_cast<double>(counts.rejected),
                             static_cast<double>(driver.interval().number),
                             driver.interval().smallest,
                             driver.interval().largest};
  for (const FoundEvent& event : driver.events()) all.push_back(event.time);
  all.insert(all.end(), driver.passages().begin(), driver.passages().end());
  return Catch::Detail::stringify(all);
}

}  // namespace popflow::test
