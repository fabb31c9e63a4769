#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace popflow::test {

/// Returns whether a test case of this program was skipped. (Catch2 supports skipping only from
/// version 3.3 on.)
inline bool& was_skipped() {
  static bool skipped = false;
  return skipped;
}

/// Records that (the rest of) a test case cannot be checked on this machine; main() reports this to
/// CTest.
inline void note_skip(const std::string& reason) {
  was_skipped() = true;
  std::cout << "skipped: " << reason << std::endl;
}

/// Returns whether skipping is forbidden. Continuous integration has everything that scripts/setup
/// installs, so a test that lacks something must fail.
inline bool must_not_skip() {
  const char* const ci = std::getenv("CI");
  const char* const strict = std::getenv("POPFLOW_NO_SKIPS");
  return (ci != nullptr && std::string_view(ci) == "true") ||
         (strict != nullptr && *strict != '\0');
}

}  // namespace popflow::test
