#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace popflow {

/// An attribute. Text is variable-length UTF-8 unless `reserved` is set: then it is a fixed-length
/// UTF-8 string of that many bytes (null-padded) that can be rewritten in place.
struct Attribute {
  std::string name;
  std::variant<std::string, double, std::int64_t, std::int8_t, std::vector<double>,
               std::vector<std::int8_t>, std::vector<std::int64_t>>
      value;
  std::size_t reserved = 0;
};

/// Type of a variable's numbers, which also decides the type in the file.
enum class NumberType { float64, int64, int8 };

/// A dataset. Every axis names a dimension of its group or of an enclosing group.
struct VariableSpec {
  std::string name;
  std::vector<std::string> dimensions;  ///< empty: a scalar
  NumberType type = NumberType::float64;
  std::vector<Attribute> attributes;
  /// Contents at creation, row-major; empty: filled with NaN (float64) or `blank` (whole numbers).
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::int8_t>> data = {};
  std::int8_t blank = -1;
};

/// A dimension: an HDF5 dimension scale of the same name.
struct DimensionSpec {
  enum class Coordinate {
    none,    ///< only a size; takes no space in the file
    index,   ///< int64 first, first + 1, first + 2, ...
    values,  ///< float64 `values`
    wholes,  ///< int64 `values`
    flags,   ///< int8 0, 1, 2, ..., with their words as attributes
  };
  std::string name;
  std::size_t size = 0;
  Coordinate coordinate = Coordinate::index;
  std::vector<Attribute> attributes;
  std::vector<double> values = {};
  std::int64_t first = 0;  ///< first number of an index
};

/// A group and its contents, in the order in which they are written.
struct GroupSpec {
  std::string name;  ///< empty for the root
  std::vector<Attribute> attributes;
  std::vector<DimensionSpec> dimensions;
  std::vector<VariableSpec> variables;
  std::vector<GroupSpec> groups;
};

}  // namespace popflow
