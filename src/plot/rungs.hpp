#pragma once

#include <string>

#include "plot/picture.hpp"

namespace popflow {

/// Picture of a comparison: means of its rungs, and their differences with simultaneous bands.
std::string picture_of_comparison(const DataFile& file, const PictureOptions& options,
                                  const Look& look);

}  // namespace popflow
