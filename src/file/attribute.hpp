#pragma once

#include "file/hdf5.hpp"
#include "file/trajectory_file.hpp"

namespace popflow::hdf5 {

/// Creates attributes. What most of them have in common, their type and their extent, it makes
/// once.
class AttributeCreator {
 public:
  AttributeCreator();
  /// On a group or dataset. Throws Failure.
  void create(hid_t object, const Attribute& attribute) const;

 private:
  const Handle scalar_;
  const Handle text_;  ///< type of text of variable length
};

/// Makes the attribute one that FixedAttribute can rewrite, where it is none: other programs write
/// text with a length of its own, and whoever edits a file may delete an attribute. Returns whether
/// anything had to be done. Throws Failure, and std::logic_error if there is no such group.
bool make_fixed(hid_t file, const TrajectoryFile::AttributeChange& change);

/// An attribute of fixed size (or what had to stay variable), open for being rewritten in place.
class FixedAttribute {
 public:
  FixedAttribute(hid_t file, const TrajectoryFile::AttributeChange& change);
  /// Overwrites its bytes; nothing else in the file moves. Throws Failure.
  void rewrite() const;

 private:
  const TrajectoryFile::AttributeChange& change_;
  Handle owner_;
  Handle attribute_;
  Handle type_;
};

}  // namespace popflow::hdf5
