#include "file/axes.hpp"

#include <algorithm>
#include <vector>

#include "file/structure.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Returns the values of a coordinate in the file; empty if the file has none.
std::vector<double> coordinate_of(const DimensionSpec& dimension) {
  using Coordinate = DimensionSpec::Coordinate;
  std::vector<double> values;
  switch (dimension.coordinate) {
    case Coordinate::none:
      break;
    case Coordinate::values:
    case Coordinate::wholes:
      return dimension.values;
    case Coordinate::index:
    case Coordinate::flags:
      for (std::size_t i = 0; i < dimension.size; ++i)
        values.push_back(static_cast<double>(dimension.first) + static_cast<double>(i));
  }
  return values;
}

InputError damaged(const DataFile& file, const std::string& what) {
  return InputError("'" + file.path() + "' is damaged: " + what);
}

void require_coordinate(const DataFile& file, const DimensionSpec& dimension,
                        const std::string& name) {
  const std::vector<double> values = coordinate_of(dimension);
  if (values.empty() || !file.has_dataset(name)) return;
  // Times may differ: a run that is extended has more of them, and a run that stopped early has the
  // time of its stop.
  const bool of_time = dimension.name.starts_with("time");
  if (of_time && file.length(name) != dimension.size) return;
  const std::vector<double> its = file.reals(name, dimension.size);
  std::size_t may_differ = of_time ? 1 : 0;
  for (std::size_t i = 0; i < its.size(); ++i)
    if (its[i] != values[i] && may_differ-- == 0)
      throw damaged(file, "its axis '" + name + "' has " + shortest(its[i]) + " in place " +
                              std::to_string(i) + ", but its parameters give " +
                              shortest(values[i]));
}

void require_dimensions(const DataFile& file, const VariableSpec& variable,
                        const std::string& name) {
  if (!file.has_dataset(name)) return;  // code that needs it reports that it is missing
  const std::vector<std::string> its = file.dimensions(name);
  if (its.size() != variable.dimensions.size()) return;  // reading reports the error
  const bool same =
      std::equal(its.begin(), its.end(), variable.dimensions.begin(), variable.dimensions.end(),
                 [](const std::string& a, const std::string& b) { return a.empty() || a == b; });
  if (!same)
    throw damaged(file, "the axes of '" + name + "' are " + text::join(its, ", ") + ", not " +
                            text::join(variable.dimensions, ", "));
}

void require_group(const DataFile& file, const GroupSpec& group, const std::string& path) {
  for (const DimensionSpec& dimension : group.dimensions)
    require_coordinate(file, dimension, join(path, dimension.name));
  for (const VariableSpec& variable : group.variables)
    require_dimensions(file, variable, join(path, variable.name));
  for (const GroupSpec& inner : group.groups) require_group(file, inner, join(path, inner.name));
}

}  // namespace

void require_axes(const DataFile& file, const GroupSpec& root) { require_group(file, root, ""); }

}  // namespace popflow
