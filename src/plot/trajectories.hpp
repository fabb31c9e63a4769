#pragma once

#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/picture.hpp"

namespace popflow {

/// A run, or an ensemble.
std::string picture_of_run(const DataFile& file, const PictureOptions& options, const Look& look);

/// Lines on axes that the options, or else the numbers, ask for.
Chart chart_of(std::string title, std::string x_name, std::vector<Line> lines,
               const PictureOptions& options, bool x_in_decades);

/// Were the saves spread over decades?
bool in_decades(const std::vector<double>& time);

}  // namespace popflow
