#include "file/open_attribute.hpp"

#include <algorithm>

namespace popflow::hdf5 {

OpenAttribute::OpenAttribute(hid_t object, const std::string& name)
    : id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose),
      type(H5Aget_type(id), H5Tclose),
      space(H5Aget_space(id), H5Sclose),
      count(check(H5Sget_simple_extent_npoints(space))) {}

bool OpenAttribute::variable_text() const { return check(H5Tis_variable_str(type)) > 0; }

std::string OpenAttribute::text() const {
  if (variable_text()) {
    char* text = nullptr;
    const Handle memory(H5Tcopy(type), H5Tclose);
    check(H5Aread(id, memory, &text));
    std::string copy = text != nullptr ? text : "";
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  check(H5Aread(id, type, text.data()));
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace popflow::hdf5
