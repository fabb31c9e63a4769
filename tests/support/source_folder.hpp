#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace popflow::test {

/// Returns the full path of a file of the project's sources.
inline std::string source_file(const std::string& path) {
  const char* folder = std::getenv("POPFLOW_SOURCE_DIR");
  if (folder == nullptr)
    throw std::runtime_error("POPFLOW_SOURCE_DIR does not say where tests are");
  return std::string(folder) + "/" + path;
}

}  // namespace popflow::test
