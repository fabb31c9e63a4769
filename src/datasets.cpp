#include "popflow/datasets.hpp"

#include <cmath>

#include "popflow/math.hpp"

namespace popflow {

VariableSpec dataset(std::string name, std::vector<std::string> dimensions, std::string long_name) {
  VariableSpec variable;
  variable.name = std::move(name);
  variable.dimensions = std::move(dimensions);
  variable.attributes = {{"long_name", std::move(long_name)}, {"units", std::string("1")}};
  return variable;
}

DimensionSpec dimension(const SystemInfo& info, const std::string& name, std::size_t size) {
  DimensionSpec dimension;
  dimension.name = name;
  dimension.size = size;
  for (const DimensionInfo& known : info.dimensions)
    if (known.name == name) dimension.attributes.push_back({"long_name", known.meaning});
  dimension.attributes.push_back({"units", std::string("1")});
  return dimension;
}

double two_digits(double value) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double unit = math::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit) * unit;
}

}  // namespace popflow
