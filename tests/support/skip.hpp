#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace popflow::test {

/// Whether a test case of this program has been skipped. (Catch2 supports skipping only from
/// version 3.3 on.)
inline bool& was_skipped() {
  static bool skipped = false;
  return skipped;
}

/// Records that a test case, or the rest of it, cannot be checked here: main() reports it to CTest.
inline void note_skip(const std::string& reason) {
  was_skipped() = true;
  std::cout << "skipped: " << reason << std::endl;
}

/// Whether skipping is forbidden. In continuous integration everything that scripts/setup installs
/// is present, so a test that lacks some of it must fail.
inline bool must_not_skip() {
  const char* const ci = std::getenv("CI");
  const char* const strict = std::getenv("POPFLOW_NO_SKIPS");
  return (ci != nullptr && std::string_view(ci) == "true") ||
         (strict != nullptr && *strict != '\0');
}

}  // namespace popflow::test
