#pragma once

#include <set>
#include <string>

#include "file/stored_file.hpp"

namespace popflow {

/// Origins of the parts of a merged file, for its history and its group `provenance`.
class Origins {
 public:
  /// Adds a file, with words for its contents ("runs 0 to 9: ").
  void add(const std::string& what, const StoredFile& file);

  /// Returns a warning about parts that different programs computed; empty if there are none.
  [[nodiscard]] std::string warning() const;

  /// Writes the origins into the layout of the whole.
  void describe(GroupSpec& layout, const std::string& command_line) const;

 private:
  /// Lines of text, each once, in the order in which they were added.
  class Lines {
   public:
    void add(const std::string& text);
    [[nodiscard]] const std::string& text() const { return text_; }
    /// Returns all lines as one line.
    [[nodiscard]] std::string joined(const std::string& separator) const;

   private:
    std::set<std::string> seen_;
    std::string text_;
  };
  Lines history_, parts_, hosts_, versions_;
  std::string started_, ended_;
  double wall_time_ = 0;
};

}  // namespace popflow
