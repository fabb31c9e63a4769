#pragma once

#include <map>
#include <string>

#include "sweep/cells.hpp"

namespace popflow {

/// Returns a line for each file that a sweep's cells read, from its options or along its axes: a
/// hash of its contents, and its path as the sweep names it. Stored in the sweep's file, because a
/// resumed sweep and each of its shards must read the same contents, in whatever folder.
std::string contents_of_files(const Cells& cells);

/// Throws UsageError if the sweep's cells read its output file, even with --force: a replaced file
/// cannot be read again.
void refuse_output_among_read(const std::string& output, const Cells& cells);

/// Contents of the files that sweeps read.
class FileContents {
 public:
  FileContents() = default;
  /// Parses the lines stored for the files of `cells`; `where` describes their source in messages.
  /// Files of earlier versions store whole paths. Throws InputError if a file is missing in the
  /// lines.
  FileContents(const Cells& cells, const std::string& lines, const std::string& where);

  /// Adds the files of another sweep. Throws InputError that names a file of both whose contents
  /// differ.
  void add(const FileContents& other);
  /// Returns the lines, in the form of contents_of_files().
  [[nodiscard]] std::string lines() const;

 private:
  struct Kept {
    std::string hash, where;
  };
  std::map<std::string, Kept> files_;  ///< by path
};

}  // namespace popflow
