#pragma once

#include <string>
#include <vector>

#include "file/trajectory_writer.hpp"

namespace popflow {

/// Group of a file that is being written, as a run sees it: names are relative to the group.
class TrajectoryGroup {
 public:
  /// Refers to the whole file, or to the group of this name.
  TrajectoryGroup(TrajectoryWriter& file, const std::string& group = "")  // NOLINT: a view
      : file_(file), group_(group), prefix_(group.empty() ? "" : group + "/") {}

  template <class Values>
  void write(const std::string& variable, std::size_t first, const Values& values) const {
    file_.write(prefix_ + variable, first, values);
  }
  void sync() const { file_.sync(); }
  void set_attributes(std::vector<TrajectoryWriter::AttributeChange> changes) const {
    for (TrajectoryWriter::AttributeChange& change : changes)
      change.group = change.group.empty() ? group_ : prefix_ + change.group;
    file_.set_attributes(changes);
  }

 private:
  TrajectoryWriter& file_;
  std::string group_;
  std::string prefix_;
};

}  // namespace popflow
