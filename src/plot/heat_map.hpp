#pragma once

#include <string>
#include <vector>

#include "plot/canvas.hpp"

namespace popflow {

/// An axis of a map: what it is called, and its values as text.
struct MapAxis {
  std::string name;
  std::vector<std::string> labels;
};

/// A number, or a word, at each place of a grid.
struct HeatMap {
  std::string title;
  MapAxis down, across;            ///< `down` grows upwards, as the axis of a figure
  std::vector<double> values;      ///< by `down`, then `across`; NaN where there is none
  std::vector<std::string> words;  ///< what values 0, 1, ... stand for; none: they are numbers
  bool logarithmic = false;        ///< of numbers
};

/// Colours where the look has them; else shades, or the words' initials.
std::string drawn(const HeatMap& map, const Look& look);

}  // namespace popflow
