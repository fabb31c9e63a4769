#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "file/hdf5.hpp"
#include "popflow/trajectory_file.hpp"

namespace popflow::hdf5 {

/// `text` with every byte that is not part of valid UTF-8 (and every NUL) replaced by U+FFFD: one
/// stray byte, from a file name in another encoding, would make some readers refuse the file.
[[nodiscard]] std::string as_utf8(std::string_view text);

/// The longest beginning of the valid UTF-8 `text` with at most `bytes` bytes and no cut character.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t bytes);

/// Creates `attribute` on a group or dataset. Throws Failure.
void create_attribute(hid_t object, const Attribute& attribute);

/// An attribute that exists with a fixed size, open for being rewritten in place.
class FixedAttribute {
 public:
  /// Throws std::logic_error if there is none, or if it does not fit `change`.
  FixedAttribute(hid_t file, const TrajectoryFile::AttributeChange& change);
  /// Overwrites its bytes; nothing in the file moves. Throws Failure.
  void rewrite() const;

 private:
  const TrajectoryFile::AttributeChange& change_;
  Handle owner_;
  Handle attribute_;
  Handle type_;
};

}  // namespace popflow::hdf5
