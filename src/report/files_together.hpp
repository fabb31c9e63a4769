#pragma once

#include <string>
#include <vector>

namespace popflow {

/// Several files, for people who wait for them: a line each.
struct FilesTogether {
  std::string page;
  std::vector<std::string> unread = {};  ///< sentences, of files that cannot be read
};

/// How far each of the files is, when unfinished ones were last written, and what all have
/// together; of the shards of a sweep, which have no file among them.
FilesTogether describe_files(const std::vector<std::string>& paths);

}  // namespace popflow
