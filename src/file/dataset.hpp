#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "file/hdf5.hpp"

/// Datasets that anybody may have made: what they say of themselves, and their numbers.
namespace popflow::hdf5 {

/// A dataset, open, with what is needed to read it.
struct Dataset {
  Handle id;
  Handle type;
  Handle space;
  Handle properties;
  H5T_class_t kind = H5T_NO_CLASS;
  H5D_layout_t layout = H5D_CONTIGUOUS;
  std::vector<std::size_t> shape;
  /// A matrix saved by MATLAB, which stores columns and so reverses the axes; `shape` is MATLAB's.
  bool by_columns = false;
};

/// How many elements a shape has.
[[nodiscard]] double count_of(const std::vector<std::size_t>& shape);

/// Words for the contents of a dataset that holds no numbers.
[[nodiscard]] const char* contents_of(H5T_class_t type);
/// Is it one of whole numbers?
[[nodiscard]] bool is_whole(H5T_class_t type);
/// Is it one of numbers that the library converts without surprises?
[[nodiscard]] bool is_plain_number(hid_t type);

/// The chunk's sizes; nothing if a chunk is larger than a dataset that cannot grow. HDF5 makes none
/// such, and reads beyond its memory if it finds one.
[[nodiscard]] std::optional<std::vector<hsize_t>> chunk_of(const Dataset& data);
[[nodiscard]] double bytes_of_chunk(const std::vector<hsize_t>& chunk, const Dataset& data);

/// Reads the block of a dataset, in the axes of the file, row-major.
void read_block(const Dataset& data, const std::vector<hsize_t>& start,
                const std::vector<hsize_t>& extent, double* out);

/// Has the dataset the mark of a dimension scale? (H5DSis_scale() would free memory twice on some.)
[[nodiscard]] bool is_scale(hid_t dataset);

/// Where the first scale of each axis is; HADDR_UNDEF where there is none. Of the dataset's list
/// only: what H5DSiterate_scales() and its like take for granted is asked for first, and nothing is
/// read where the list says.
[[nodiscard]] std::vector<haddr_t> first_scales(const Dataset& data);

}  // namespace popflow::hdf5
