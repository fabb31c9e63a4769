#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "popflow/error.hpp"
#include "sweep/cells.hpp"

/// Refusals of cells, which --keep-going marks 'refused'.
namespace popflow {

/// Returns whether the error means that options or files exclude a cell, or that a system failed in
/// it. The only other errors are failures to write the sweep's own file.
inline bool is_refusal(const Error& error) {
  return error.code() == ExitCode::usage || error.code() == ExitCode::input ||
         error.code() == ExitCode::failed_check;
}

/// Calls `make` for a cell: a refusal names the cell, and the option that skips it.
template <class Make>
auto naming_cell(const Cells& cells, std::uint64_t number, Make make) {
  try {
    return make();
  } catch (const Error& error) {
    const std::string cell = cells.describe(number);
    if (cell.empty() || !is_refusal(error)) throw;
    throw Error(error.code(), "the cell " + cell + ": " + error.what() +
                                  "; --keep-going marks such cells 'refused' and goes on, and so "
                                  "does 'resume --keep-going'");
  }
}

/// Reasons why --keep-going skips cells: each sentence once, with one cell. Thread-safe.
class Refusals {
 public:
  void add(const std::string& cell, const std::string& sentence) {
    constexpr std::size_t kMost = 5;
    const std::lock_guard lock(mutex_);
    if (cells_.size() < kMost || cells_.contains(sentence)) cells_.emplace(sentence, cell);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const auto& [sentence, cell] : cells_)
      all.push_back("refused" + (cell.empty() ? "" : ", for example the cell " + cell) + ": " +
                    sentence);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> cells_;  ///< first refused cell, by sentence
};

}  // namespace popflow
