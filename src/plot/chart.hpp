#pragma once

#include <string>
#include <vector>

#include "plot/canvas.hpp"
#include "plot/scale.hpp"

namespace popflow {

/// A line of a chart.
struct Line {
  std::string name;
  std::vector<double> x, y;
  Canvas::Stroke stroke = Canvas::Stroke::solid;
  std::size_t colour = 0;  ///< a number for colour_of()
  bool named = true;       ///< is it in the legend?
};

/// Something that happened at one x.
struct Mark {
  std::string name;
  double x = 0;
};

/// Lines over one axis, as characters.
struct Chart {
  std::string title;  ///< above
  std::string x_name;
  std::vector<Line> lines;
  std::vector<Mark> marks;
  Scale x, y;
  std::size_t rows = 14;  ///< of the field
};

std::string drawn(const Chart& chart, const Look& look);

/// One line of blocks for a row of numbers, lowest to highest, at most `width` characters wide.
std::string sparkline(const std::vector<double>& values, std::size_t width, const Look& look);

}  // namespace popflow
