#pragma once

#include <string>

#include "plot/picture.hpp"

namespace popflow {

/// Picture of a sweep. One axis: a line, or series as lines over time. Two axes: a map. More axes:
/// maps at some values of the others.
std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look);

/// Picture of a comparison of sweeps: verdicts over its axes, for all observables or the named
/// ones, or any other variable of the file.
std::string picture_of_compared_sweeps(const DataFile& file, const PictureOptions& options,
                                       const Look& look);

}  // namespace popflow
