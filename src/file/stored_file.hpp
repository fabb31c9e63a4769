#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "popflow/file_layout.hpp"

namespace popflow {

/// Popflow file as it is stored, for copying: its whole layout, from which the file can be created
/// again, and the raw numbers of its variables. Does not interpret names, and trusts nothing in the
/// file.
class StoredFile {
 public:
  /// Throws InputError if popflow did not write `path`, or if another program has rewritten the
  /// file so that numbers of a variable no longer lie in one piece.
  explicit StoredFile(const std::string& path);
  ~StoredFile();
  StoredFile(StoredFile&&) noexcept;
  StoredFile& operator=(StoredFile&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Groups, dimensions with their coordinates, variables without contents, attributes. Attributes
  /// of types that popflow does not write, which other programs may have added, are left out.
  [[nodiscard]] const GroupSpec& layout() const { return layout_; }

  /// Returns the number of elements of a variable; `name` is its path in the file.
  [[nodiscard]] std::size_t size(const std::string& name) const;

  /// Reads elements [first, first + count) of a variable, row-major. Each element takes bytes_of()
  /// bytes. Throws InputError if the file has become shorter.
  void read(const std::string& name, std::size_t first, std::size_t count, void* out) const;

  /// Returns all of a variable of whole numbers. Throws InputError unless there are `count`.
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name,
                                                   std::size_t count) const;
  [[nodiscard]] std::vector<double> reals(const std::string& name, std::size_t count) const;

 private:
  struct Impl;
  std::string path_;
  std::unique_ptr<Impl> impl_;
  GroupSpec layout_;
};

/// Returns the attribute of this name; null if there is none.
const Attribute* find_attribute(const GroupSpec& group, const std::string& name);
Attribute* find_attribute(GroupSpec& group, const std::string& name);
/// Returns the direct subgroup of this name; null if there is none.
const GroupSpec* find_group(const GroupSpec& group, const std::string& name);
GroupSpec* find_group(GroupSpec& group, const std::string& name);
/// Returns a text attribute of a layout's group (the root is ""); empty if there is none.
std::string text_of(const GroupSpec& root, const std::string& group, const std::string& name);

/// Variable of a layout, with its path and the groups around it.
struct PlacedVariable {
  std::string path;  ///< "events/time"
  const VariableSpec* variable = nullptr;
  std::vector<std::size_t> shape;
  std::vector<std::string> dimensions;  ///< paths of its dimensions: "events/event"

  [[nodiscard]] std::size_t count() const;
};

/// Returns all variables of a layout, including those of inner groups.
std::vector<PlacedVariable> variables_of(const GroupSpec& root);

}  // namespace popflow
