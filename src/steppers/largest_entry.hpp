#pragma once

namespace popflow {

/// Bound on the entries of a state; larger ones count as non-finite. Losses are products of four
/// entries, and the last recorded loss should be finite.
constexpr double kLargestEntry = 1e70;

}  // namespace popflow
