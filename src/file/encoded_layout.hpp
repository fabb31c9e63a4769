#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "file/attribute_blocks.hpp"
#include "popflow/file_layout.hpp"

namespace popflow {

/// Place of a dataset in a file that is being laid out, and its first numbers.
struct DatasetPlace {
  std::string path;
  std::uint64_t offset = 0;
  std::size_t count = 0;
  NumberType type = NumberType::float64;
  const VariableSpec* variable = nullptr;  ///< either this or the dimension
  const DimensionSpec* dimension = nullptr;
};

/// Returns the type of a dimension's coordinate in the file.
[[nodiscard]] NumberType type_of(DimensionSpec::Coordinate coordinate);

/// Returns the attribute NAME by which netCDF marks and recognises a dimension without coordinates.
[[nodiscard]] std::string scale_without_coordinate(std::size_t size);

/// Structure of an HDF5 file as bytes.
struct EncodedLayout {
  std::string bytes;       ///< of the file from its start: all but the contents of datasets
  std::uint64_t size = 0;  ///< bytes of the whole file
  std::vector<DatasetPlace> places;
  AttributeBlocks attributes;
};

/// Encodes the structure of a file in the format of HDF5 1.8, as HDF5 would write it with
/// attributes and links in object headers instead of heaps. Encoding takes a thirtieth of the
/// instructions of the library, whose time dominated that of short runs. Returns nothing if an
/// object has more than a thousand attributes or members, or an attribute of more than 32 KiB
/// besides text of variable length; the library must lay out such a file. `root` must have passed
/// check_layout(), and places refer to it.
[[nodiscard]] std::optional<EncodedLayout> encode_layout(const GroupSpec& root);

}  // namespace popflow
