#pragma once

#include <string>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

/// An attribute that anybody may have made, open, with its type and its number of elements.
struct OpenAttribute {
  OpenAttribute(hid_t object, const std::string& name);
  /// The single text that it holds, up to the first NUL, as it is: not fit for a terminal. To be
  /// asked of texts (H5T_STRING) alone that are no larger than the memory.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool variable_text() const;

  Handle id;
  Handle type;
  Handle space;
  hssize_t count;
};

}  // namespace popflow::hdf5
