#pragma once

#include <string>
#include <vector>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

using Names = std::vector<std::string>;

// In the order of creation, or by name in files of others that did not keep it. What cannot be
// shown (control characters, or not UTF-8) is no name of anything that we could want.
[[nodiscard]] Names names_of_attributes(hid_t object);
[[nodiscard]] Names names_of_links(hid_t group);

struct Link {
  std::string name;
  H5L_type_t type;
  haddr_t address;  ///< HADDR_UNDEF unless it is a hard link
};
/// All of a group's, by its path in the file; "" is the root.
[[nodiscard]] std::vector<Link> links_of(hid_t file, const std::string& group);

}  // namespace popflow::hdf5
