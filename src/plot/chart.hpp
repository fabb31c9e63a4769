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
  bool named = true;       ///< whether it is in the legend
};

/// An event at one x.
struct Mark {
  std::string name;
  double x = 0;
};

/// Lines over a common axis, drawn with characters.
struct Chart {
  std::string title;  ///< shown above the field
  std::string x_name;
  std::vector<Line> lines;
  std::vector<Mark> marks;
  Scale x, y;
  std::size_t rows = 14;  ///< rows of the field
};

/// Draws the chart with characters: title, field, axes and legend.
std::string drawn(const Chart& chart, const Look& look);

/// Row of numbers as block characters of matching height, at most `width` characters wide.
std::string sparkline(const std::vector<double>& values, std::size_t width, const Look& look);

}  // namespace popflow
