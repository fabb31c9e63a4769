#pragma once

#include <string>

#include "plot/picture.hpp"

namespace popflow {

/// A sweep over one axis as lines, over two as a map.
std::string picture_of_sweep(const DataFile& file, const PictureOptions& options,
                             const Catalogue& catalogue, const Look& look);

}  // namespace popflow
