#pragma once

// Catch2 2 is one header, and version 3 a library with many; which one is here, the build knows.
#ifdef POPFLOW_CATCH2_2
#include <catch2/catch.hpp>
#else

#include <catch2/catch_all.hpp>
#include <string>

// Names of version 2, in which the tests are written.
namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

inline Matchers::StringContainsMatcher Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}

}  // namespace Catch

using Catch::Approx;

#endif
