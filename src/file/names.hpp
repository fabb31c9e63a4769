#pragma once

#include <string>
#include <vector>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

using Names = std::vector<std::string>;

// Returns names in the order of creation, or sorted by name in files of other programs that do not
// keep that order. Leaves out names with control characters or invalid UTF-8, which cannot be
// shown.
[[nodiscard]] Names names_of_attributes(hid_t object);
[[nodiscard]] Names names_of_links(hid_t group);

struct Link {
  std::string name;
  H5L_type_t type;
  haddr_t address;  ///< HADDR_UNDEF unless it is a hard link
};
/// Returns the links of a group, by its path in the file; "" is the root.
[[nodiscard]] std::vector<Link> links_of(hid_t file, const std::string& group);

}  // namespace popflow::hdf5
