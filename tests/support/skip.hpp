#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace popflow::test {

/// Has a test case of this program been skipped? (Catch2 knows no skipping before its version 3.3.)
inline bool& was_skipped() {
  static bool skipped = false;
  return skipped;
}

/// Notes that a test case, or the rest of it, cannot be checked here: main() tells CTest.
inline void note_skip(const std::string& reason) {
  was_skipped() = true;
  std::cout << "skipped: " << reason << std::endl;
}

/// In continuous integration everything is there that scripts/setup installs: a test that lacks
/// some of it fails instead of being skipped.
inline bool must_not_skip() {
  const char* const ci = std::getenv("CI");
  const char* const strict = std::getenv("POPFLOW_NO_SKIPS");
  return (ci != nullptr && std::string_view(ci) == "true") ||
         (strict != nullptr && *strict != '\0');
}

}  // namespace popflow::test
