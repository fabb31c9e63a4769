#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace popflow::fuzz {

using Random = std::minstd_rand;
using Lines = std::vector<std::string>;

/// A parser and the generator of its inputs.
struct Target {
  std::string name;
  /// Gives the input to the parser; aborts if the parser breaks a promise.
  void (*run)(std::string_view input);
  /// Returns a plausible line in place of line `at` of an input, so that mutations can change whole
  /// lines. If null, mutations change bytes only.
  std::string (*suggest)(Random& random, const Lines& lines, std::size_t at);
};

// Each target has its own source file.
Target axes();
Target cells();
Target configuration();
Target counts();
Target files();
Target stored();
Target text();
Target times();
Target utf8();
Target values();
Target words();

const std::vector<Target>& targets();

/// Returns the target called `name`; prints the names of all targets and exits if there is none.
const Target& find_target(std::string_view name);

}  // namespace popflow::fuzz
