#pragma once

#include <string>

namespace popflow {

/// Contents of popflow/version.hpp. The header changes with every commit, so only one small source
/// includes it.
struct ThisBuild {
  std::string version;
  std::string revision;
  std::string compiler;
  std::string flags;
  std::string libraries;
};
ThisBuild this_build();

}  // namespace popflow
