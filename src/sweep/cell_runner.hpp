#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/driver.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"

namespace popflow {

/// Computes runs of cells, one after another. What neighbouring cells have in common is made once:
/// a new System only where an option differs that Systems know of. For one thread; `workers` serve
/// what is parallel within a run.
class CellRunner {
 public:
  CellRunner(const Cells& cells, const Columns& columns, const Catalogue& catalogue,
             Workers& workers, std::function<bool()> interrupted);

  /// Computes run `run` of the cell of that number and writes its row, and the cell's own. Returns
  /// false, without a meaning of the rows, if it was interrupted. Throws what the system refuses,
  /// with the cell, unless such cells are to be marked.
  bool compute(std::uint64_t number, std::uint64_t run, std::span<double> run_row,
               std::span<double> cell_row);

 private:
  /// A cell's System and what its runs have in common.
  struct Current {
    std::uint64_t number = 0;
    bool refused = false;
    RunConfig config;
    std::unique_ptr<System> system = {};
    Schedule schedule = {};
    std::vector<std::size_t> events = {};  ///< of the system, among those of its description
  };
  void enter(std::uint64_t number);
  void make(Current& next);
  /// Of a run of the current cell; none if the cell is refused and is to be marked.
  std::unique_ptr<Driver> driver(std::uint64_t run);
  /// Calls `make` for a cell. Returns false if it refuses the cell and such cells are to be marked.
  template <class Make>
  bool accepted(std::uint64_t number, Make make) const;
  /// What --record series keeps of one save.
  void write_save(const Driver& driver, std::size_t save, std::span<double> run_row,
                  std::span<double> cell_row) const;
  void write_end(const Driver& driver, const Outcome& outcome, std::span<double> row) const;
  void write_state(const Driver& driver, std::span<double> row) const;
  void write_cell(std::span<double> row) const;
  [[nodiscard]] bool same_system(std::uint64_t a, std::uint64_t b) const;

  const Cells& cells_;
  const Columns& columns_;
  const Catalogue& catalogue_;
  Workers& workers_;
  std::function<bool()> interrupted_;
  /// For each axis: does a System know of what changes along it?
  std::vector<bool> makes_system_;
  std::optional<Current> current_;
};

}  // namespace popflow
