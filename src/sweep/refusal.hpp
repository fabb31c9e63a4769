#pragma once

#include <cstdint>
#include <string>

#include "popflow/error.hpp"
#include "sweep/cells.hpp"

/// Cells that a sweep can do without: --keep-going marks them 'refused'.
namespace popflow {

/// Does it say that options or files exclude a cell, or that a system failed in it? Another says
/// that the sweep's own file cannot be written.
inline bool is_refusal(const Error& error) {
  return error.code() == ExitCode::usage || error.code() == ExitCode::input ||
         error.code() == ExitCode::failed_check;
}

/// Calls `make` for a cell: a refusal names the cell, and how to go on without it.
template <class Make>
auto naming_cell(const Cells& cells, std::uint64_t number, Make make) {
  try {
    return make();
  } catch (const Error& error) {
    const std::string cell = cells.describe(number);
    if (cell.empty() || !is_refusal(error)) throw;
    throw Error(error.code(), "the cell " + cell + ": " + error.what() +
                                  "; --keep-going marks such cells 'refused' and goes on, also in "
                                  "'resume' of what was computed");
  }
}

}  // namespace popflow
