#pragma once

#include <map>
#include <string>

#include "sweep/cells.hpp"

namespace popflow {

/// A line for each file that a sweep's cells read, from its options or along its axes: a hash of
/// its contents, and its path as the sweep names it. Kept in the sweep's file, since a sweep that
/// is resumed, and each of its shards, must go on with what it began with, whatever the folder.
std::string contents_of_files(const Cells& cells);

/// Throws UsageError if the sweep's cells read the file that it is to be written to: even with
/// --force, since what has been replaced cannot be read again.
void refuse_output_among_read(const std::string& output, const Cells& cells);

/// Cache of the contents of files that sweeps read.
class FileContents {
 public:
  FileContents() = default;
  /// From the lines that were kept of the files of `cells`; `where` says from where they are, for
  /// messages. Files of earlier versions keep whole paths. Throws InputError if the lines lack a
  /// file.
  FileContents(const Cells& cells, const std::string& lines, const std::string& where);

  /// Adds the files of another. Throws InputError that names one of both whose contents differ.
  void add(const FileContents& other);
  /// As contents_of_files() writes them.
  [[nodiscard]] std::string lines() const;

 private:
  struct Kept {
    std::string hash, where;
  };
  std::map<std::string, Kept> files_;  ///< by path
};

}  // namespace popflow
