#include "file/structure.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "popflow/error.hpp"

namespace popflow {

namespace {

// Rough sizes of HDF5's own structures: a group, a dataset with its scales, an attribute.
constexpr double kGroupBytes = 16384;
constexpr double kDatasetBytes = 1500;
constexpr double kAttributeBytes = 100;

// Data of some size start at a page.
constexpr double kPage = 4096;
constexpr double kAlignedFrom = 512;

double data_bytes(double bytes) {
  return bytes < kAlignedFrom ? bytes : std::ceil(bytes / kPage) * kPage;
}

double attribute_bytes(const std::vector<Attribute>& attributes) {
  double bytes = 0;
  for (const Attribute& attribute : attributes) {
    bytes += kAttributeBytes + static_cast<double>(attribute.reserved);
    std::visit(
        [&]<class Value>(const Value& value) {
          // The bytes of a single number are counted already.
          if constexpr (requires { value.size(); })
            bytes += static_cast<double>(value.size() * sizeof(typename Value::value_type));
        },
        attribute.value);
  }
  return bytes;
}

double group_bytes(const Scope& scope) {
  double bytes = kGroupBytes + attribute_bytes(scope.group.attributes);
  for (const DimensionSpec& dimension : scope.group.dimensions) {
    const bool stored = dimension.coordinate != DimensionSpec::Coordinate::none;
    bytes += kDatasetBytes + attribute_bytes(dimension.attributes);
    bytes += stored ? data_bytes(8.0 * static_cast<double>(dimension.size)) : 0.0;
  }
  for (const VariableSpec& variable : scope.group.variables) {
    double data = static_cast<double>(bytes_of(variable.type));
    for (const std::string& name : variable.dimensions) {
      data *= static_cast<double>(scope.dimension(name).size);
    }
    bytes += kDatasetBytes + attribute_bytes(variable.attributes) + data_bytes(data);
  }
  for (const GroupSpec& group : scope.group.groups) bytes += group_bytes({group, &scope});
  return bytes;
}

[[noreturn]] void wrong(const std::string& what, const std::string& name, const char* problem) {
  throw std::logic_error("layout: " + what + " '" + name + "' " + problem);
}

void check_attributes(const std::vector<Attribute>& attributes) {
  std::set<std::string> names;
  for (const Attribute& attribute : attributes) {
    if (!names.insert(attribute.name).second) wrong("attribute", attribute.name, "is there twice");
    const bool empty = std::visit(
        [](const auto& value) {
          using V = std::decay_t<decltype(value)>;
          if constexpr (std::is_arithmetic_v<V> || std::is_same_v<V, std::string>) {
            return false;
          } else {
            return value.empty();
          }
        },
        attribute.value);
    if (empty) wrong("attribute", attribute.name, "has no elements");
  }
}

void check_contents(const VariableSpec& variable, const Scope& scope) {
  std::size_t count = 1;
  for (const std::string& name : variable.dimensions) {
    if (__builtin_mul_overflow(count, scope.dimension(name).size, &count)) {
      wrong("variable", variable.name, "has more elements than can be counted");
    }
  }
  const std::size_t given = std::visit([](const auto& data) { return data.size(); }, variable.data);
  if (given == 0) return;
  const NumberType type = variable.data.index() == 0   ? NumberType::float64
                          : variable.data.index() == 1 ? NumberType::int64
                                                       : NumberType::int8;
  if (type != variable.type) wrong("variable", variable.name, "has contents of another type");
  if (given != count) wrong("variable", variable.name, "has contents of another size");
}

void check_group(const Scope& scope) {
  std::set<std::string> names;
  const auto claim = [&](const std::string& what, const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos) wrong(what, name, "has no valid name");
    if (!names.insert(name).second) wrong(what, name, "shares its name with another");
  };
  check_attributes(scope.group.attributes);
  for (const DimensionSpec& dimension : scope.group.dimensions) {
    claim("dimension", dimension.name);
    check_attributes(dimension.attributes);
    if (dimension.size == 0) wrong("dimension", dimension.name, "has size 0");
    const bool listed = dimension.coordinate == DimensionSpec::Coordinate::values ||
                        dimension.coordinate == DimensionSpec::Coordinate::wholes;
    if (listed && dimension.values.size() != dimension.size) {
      wrong("dimension", dimension.name, "has not one value for each of its elements");
    }
  }
  for (const VariableSpec& variable : scope.group.variables) {
    claim("variable", variable.name);
    check_attributes(variable.attributes);
    check_contents(variable, scope);
  }
  for (const GroupSpec& group : scope.group.groups) {
    claim("group", group.name);
    check_group({group, &scope});
  }
}

}  // namespace

const DimensionSpec& Scope::dimension(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->above) {
    const auto found = std::ranges::find(scope->group.dimensions, name, &DimensionSpec::name);
    if (found != scope->group.dimensions.end()) return *found;
  }
  wrong("dimension", name, "is not declared in its group or above");
}

std::size_t Scope::count(const VariableSpec& variable) const {
  std::size_t count = 1;
  for (const std::string& name : variable.dimensions) count *= dimension(name).size;
  return count;
}

std::size_t bytes_of(NumberType type) { return type == NumberType::int8 ? 1 : 8; }

std::string join(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

void require_shallow(const std::string& group, const std::string& file) {
  constexpr std::ptrdiff_t kDeepest = 16;
  if (std::count(group.begin(), group.end(), '/') > kDeepest)
    throw InputError("'" + file + "' has groups nested more than " + std::to_string(kDeepest) +
                     " deep, which popflow never writes");
}

void check_layout(const GroupSpec& root) { check_group({root}); }

double file_bytes(const GroupSpec& root) { return group_bytes({root}); }

}  // namespace popflow
