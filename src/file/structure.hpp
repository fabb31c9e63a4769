#pragma once

#include <cstddef>
#include <string>

#include "file/trajectory_file.hpp"

namespace popflow {

/// Group of a layout with the groups around it, where the names of dimensions are looked up.
struct Scope {
  const GroupSpec& group;
  const Scope* above = nullptr;

  /// Returns the dimension of this name in this group, or else in the nearest group above. Throws
  /// std::logic_error if there is none.
  [[nodiscard]] const DimensionSpec& dimension(const std::string& name) const;
  /// Returns the number of elements of a variable of this group.
  [[nodiscard]] std::size_t count(const VariableSpec& variable) const;
};

/// Returns the bytes of one number in the file.
[[nodiscard]] std::size_t bytes_of(NumberType type);

/// Returns the path of a member of the group `group`: "events/time", "loss".
[[nodiscard]] std::string join(const std::string& group, const std::string& name);

/// Throws InputError for a group that lies deeper than any that popflow writes: links within a file
/// may form a circle.
void require_shallow(const std::string& group, const std::string& file);

/// Finds programming errors: two things of one name, a dimension without size or unknown, contents
/// of another type or size than declared. Throws std::logic_error.
void check_layout(const GroupSpec& root);

}  // namespace popflow
