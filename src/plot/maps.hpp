#pragma once

#include <string>

#include "plot/picture.hpp"

namespace popflow {

/// A sweep over one axis as a line, with its series as lines over time; over two axes as a map;
/// over more axes as maps at some values of the others.
std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look);

/// A comparison of sweeps: verdicts over its axes, for all observables or the named ones, or any
/// other variable of the file.
std::string picture_of_compared_sweeps(const DataFile& file, const PictureOptions& options,
                                       const Look& look);

}  // namespace popflow
