#pragma once

#include <string>
#include <vector>

#include "plot/canvas.hpp"

namespace popflow {

/// An axis of a map: its name, and its values as text.
struct MapAxis {
  std::string name;
  std::vector<std::string> labels;
};

/// Map with a number or a word at each point of a grid.
struct HeatMap {
  std::string title;
  MapAxis down, across;            ///< `down` grows upwards, like the axis of a figure
  std::vector<double> values;      ///< by `down`, then `across`; NaN: no value
  std::vector<std::string> words;  ///< meanings of the values 0, 1, ...; empty: numbers
  bool logarithmic = false;        ///< for numbers
};

/// Draws the map in colours if the look has them, otherwise in shades or the words' initials.
std::string drawn(const HeatMap& map, const Look& look);

}  // namespace popflow
