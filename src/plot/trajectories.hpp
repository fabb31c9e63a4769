#pragma once

#include <string>

#include "plot/picture.hpp"

namespace popflow {

/// A run, or an ensemble.
std::string picture_of_run(const DataFile& file, const PictureOptions& options, const Look& look);

/// A comparison: the means of its rungs.
std::string picture_of_comparison(const DataFile& file, const PictureOptions& options,
                                  const Look& look);

}  // namespace popflow
