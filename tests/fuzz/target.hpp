#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace popflow::fuzz {

using Random = std::minstd_rand;
using Lines = std::vector<std::string>;

/// A parser and its inputs.
struct Target {
  std::string name;
  /// Gives the input to the parser; aborts where the parser breaks a promise.
  void (*run)(std::string_view input);
  /// A line that makes sense in place of line `at` of an input: mutations change bytes and, with
  /// its help, whole lines. Null: bytes alone.
  std::string (*suggest)(Random& random, const Lines& lines, std::size_t at);
};

// A file each.
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

/// The target called `name`; says what there is and exits if there is none.
const Target& find_target(std::string_view name);

}  // namespace popflow::fuzz
