#pragma once

#include <string>
#include <vector>

namespace popflow {

/// Overview of several files, with one line for each.
struct FilesOverview {
  std::string page;
  std::vector<std::string> unread = {};  ///< messages about files that cannot be read
};

/// Describes the progress of each file, the time at which unfinished files were last written, and
/// the totals. If the files are shards of a sweep, lists the shards that are missing.
FilesOverview describe_files(const std::vector<std::string>& paths);

}  // namespace popflow
