#pragma once

namespace popflow {

/// Numbers that the memory has of each sample of a minibatch: its weight, its normals, and what
/// Systems keep of it, which was measured to be 126 bytes (scb) to 189 (joma-joint) with the
/// shortest contexts.
inline constexpr double kNumbersOfSample = 24;

}  // namespace popflow
