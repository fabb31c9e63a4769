#pragma once

#include <functional>
#include <string>

#include "file/stored_file.hpp"
#include "file/trajectory_file.hpp"

namespace popflow {

/// Where numbers of a variable begin in a file.
struct Numbers {
  std::string variable;   ///< its path
  std::size_t first = 0;  ///< element, row-major
};

/// Copies `count` numbers, in pieces of some megabytes; calls `between` before each.
void copy_numbers(const StoredFile& from, const Numbers& there, TrajectoryFile& to,
                  const Numbers& here, std::size_t count, NumberType type,
                  const std::function<void()>& between);

/// Are `count` numbers of two files the same, bit for bit? In pieces, likewise.
bool same_numbers(const StoredFile& a, const Numbers& in_a, const StoredFile& b,
                  const Numbers& in_b, std::size_t count, NumberType type,
                  const std::function<void()>& between);

}  // namespace popflow
