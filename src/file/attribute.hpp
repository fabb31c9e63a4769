#pragma once

#include "file/hdf5.hpp"
#include "file/trajectory_file.hpp"

namespace popflow::hdf5 {

/// Creates attributes. Makes their common type and extent only once.
class AttributeCreator {
 public:
  AttributeCreator();
  /// Creates the attribute of a group or dataset. Throws Failure.
  void create(hid_t object, const Attribute& attribute) const;

 private:
  const Handle scalar_;
  const Handle text_;  ///< type of text of variable length
};

/// Replaces an attribute that FixedAttribute cannot rewrite: other programs write text with a
/// length of its own or delete attributes. Returns whether anything was changed. Throws Failure,
/// and std::logic_error if there is no such group.
bool make_fixed(hid_t file, const TrajectoryFile::AttributeChange& change);

/// Attribute of fixed size (or one that had to stay variable), open for being rewritten in place.
class FixedAttribute {
 public:
  FixedAttribute(hid_t file, const TrajectoryFile::AttributeChange& change);
  /// Overwrites the bytes of the attribute; nothing else in the file moves. Throws Failure.
  void rewrite() const;

 private:
  const TrajectoryFile::AttributeChange& change_;
  Handle owner_;
  Handle attribute_;
  Handle type_;
};

}  // namespace popflow::hdf5
