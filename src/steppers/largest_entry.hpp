#pragma once

namespace popflow {

/// A state with an entry beyond this counts as non-finite: losses are products of four entries, and
/// the last ones recorded should be finite.
constexpr double kLargestEntry = 1e70;

}  // namespace popflow
