#pragma once

// Catch2 version 2 is one header; version 3 is a library with many headers. The build defines which
// version is installed.
#ifdef POPFLOW_CATCH2_2
#include <catch2/catch.hpp>
#else

#include <catch2/catch_all.hpp>
#include <string>

// Names of version 2, which the tests use.
namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

inline Matchers::StringContainsMatcher Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}

}  // namespace Catch

using Catch::Approx;

#endif
