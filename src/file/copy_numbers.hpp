#pragma once

#include <functional>
#include <string>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"

namespace popflow {

/// Position of a variable's numbers in a file.
struct Numbers {
  std::string variable;   ///< path of the variable
  std::size_t first = 0;  ///< element, row-major
};

/// Copies `count` numbers, in pieces of some megabytes; calls `between` before each.
void copy_numbers(const StoredFile& from, const Numbers& there, TrajectoryFile& to,
                  const Numbers& here, std::size_t count, NumberType type,
                  const std::function<void()>& between);

/// Returns whether `count` numbers of two files are the same, bit for bit. Compares in pieces of
/// some megabytes; calls `between` before each.
bool same_numbers(const StoredFile& a, const Numbers& in_a, const StoredFile& b,
                  const Numbers& in_b, std::size_t count, NumberType type,
                  const std::function<void()>& between);

}  // namespace popflow
