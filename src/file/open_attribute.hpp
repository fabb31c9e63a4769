#pragma once

#include <string>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

/// Open attribute of any program, with its type and its number of elements.
struct OpenAttribute {
  OpenAttribute(hid_t object, const std::string& name);
  /// Returns the single text of the attribute, up to the first NUL, unchanged (not safe to print).
  /// Only for texts (H5T_STRING) that fit into memory.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool variable_text() const;

  Handle id;
  Handle type;
  Handle space;
  hssize_t count;
};

}  // namespace popflow::hdf5
