#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "file/hdf5.hpp"
#include "file/packing.hpp"

/// Datasets of any program: their description and their numbers.
namespace popflow::hdf5 {

/// Open dataset, with what is needed to read it.
struct Dataset {
  Handle id;
  Handle type;
  Handle space;
  Handle properties;
  H5T_class_t kind = H5T_NO_CLASS;
  H5D_layout_t layout = H5D_CONTIGUOUS;
  std::vector<std::size_t> shape;
  /// Whether MATLAB saved the matrix: MATLAB stores columns and so reverses the axes; `shape` is
  /// MATLAB's.
  bool by_columns = false;
  std::optional<Packing> packing;  ///< found when the numbers are first read
};

/// Returns the number of elements of a shape.
[[nodiscard]] double count_of(const std::vector<std::size_t>& shape);

/// Describes the contents of a dataset that has no numbers.
[[nodiscard]] const char* contents_of(H5T_class_t type);
/// Returns whether the type has whole numbers.
[[nodiscard]] bool is_whole(H5T_class_t type);
/// Returns whether the library converts numbers of this type correctly.
[[nodiscard]] bool is_plain_number(hid_t type);

/// Returns the chunk's sizes; nothing if a chunk is larger than a dataset that cannot grow. HDF5
/// never makes such a chunk, and reads beyond its memory if it finds one.
[[nodiscard]] std::optional<std::vector<hsize_t>> chunk_of(const Dataset& data);
[[nodiscard]] double bytes_of_chunk(const std::vector<hsize_t>& chunk, const Dataset& data);

/// Reads the stored numbers of a block of a dataset, in the axes of the file, row-major.
void read_block(const Dataset& data, const std::vector<hsize_t>& start,
                const std::vector<hsize_t>& extent, double* out);

/// Returns whether the dataset is marked as a dimension scale. (H5DSis_scale() frees memory twice
/// on some damaged files.)
[[nodiscard]] bool is_scale(hid_t dataset);

/// Returns the address of the first scale of each axis; HADDR_UNDEF if there is none. Reads only
/// the dataset's list, and first checks what H5DSiterate_scales() assumes without a check. Follows
/// none of the addresses.
[[nodiscard]] std::vector<haddr_t> first_scales(const Dataset& data);

}  // namespace popflow::hdf5
