#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/schedule.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/file_layout.hpp"
#include "popflow/parameter.hpp"
#include "popflow/workers.hpp"
#include "sweep/cells.hpp"

namespace popflow {

/// Variable of a sweep's file, of which each row (a run, or a cell) has `width` numbers.
struct Column {
  VariableSpec spec;      ///< its dimensions are those after the rows' own
  std::size_t width = 1;  ///< numbers per row
  std::size_t begin = 0;  ///< place of the first one in a row
};

/// Rows of numbers, all stored as double until they are written.
struct Table {
  std::vector<Column> columns;
  std::size_t width = 0;  ///< numbers per row

  /// Adds a column. Returns the place of its first number.
  std::size_t add(VariableSpec spec, std::size_t numbers = 1);
};

/// Columns of the row of a run and of the row of a cell. They follow from the system's description
/// before the first cell is computed, never from results.
struct SweepColumns {
  /// Makes some of the systems, to find out whether their states have equal sizes. Throws their
  /// refusals, with the cell, unless such cells are to be marked.
  SweepColumns(const Cells& cells, const Catalogue& catalogue, Workers& workers);

  const SystemInfo info;  ///< description with the recorded observables
  /// numbers of the training rule, after the observables
  const std::vector<ObservableInfo> of_rule;
  Table of_run;
  Table of_cell;
  bool series = false;
  bool noisy = false;
  /// Times of all runs, if they are the same in all cells; otherwise each cell has its own.
  Schedule times = {};
  std::size_t saves = 1;                       ///< records per run
  std::vector<DimensionSpec> dimensions = {};  ///< dimensions of states and passages

  // Places of the parts of a run's row, and their numbers of columns.
  std::size_t stop_time = 0, status = 0, accepted_steps = 0, outcome = 0, observables = 0,
              events = 0, finals = 0, passages = 0, fields = 0, series_at = 0;
  bool has_finals = false;
  std::vector<std::string> passage_names = {};
  std::vector<std::string> field_names = {};
  std::vector<std::size_t> of_fields = {};  ///< their places among the columns
  // Places in a cell's row.
  std::size_t seed = 0, constants = 0, cell_times = 0;
  bool has_seed = false;
  bool own_times = false;
  std::vector<std::string> constant_names = {};

  /// Resolved values of the system's own parameters that were not given, if they are equal in all
  /// cells: for example p and q of a text.
  std::vector<std::pair<std::string, Value>> settled = {};

 private:
  void add_ends();
  void add_series(const Cells& cells);
  void add_state(const Cells& cells, const Catalogue& catalogue, Workers& workers);
  void add_cell(const Cells& cells);
};

}  // namespace popflow
