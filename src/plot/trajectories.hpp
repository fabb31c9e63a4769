#pragma once

#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/picture.hpp"

namespace popflow {

/// Picture of a run or an ensemble.
std::string picture_of_run(const DataFile& file, const PictureOptions& options, const Look& look);

/// Chart with lines. Its axes are linear or logarithmic as the options say; otherwise the numbers
/// decide.
Chart chart_of(std::string title, std::string x_name, std::vector<Line> lines,
               const PictureOptions& options, bool x_in_decades);

/// Whether the saves are spread over decades.
bool in_decades(const std::vector<double>& time);

}  // namespace popflow
