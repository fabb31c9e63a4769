#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flow/flow_lanes.hpp"
#include "plan/run_plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/driver.hpp"
#include "run/continued_runs.hpp"
#include "run/last_state.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/refusal.hpp"
#include "sweep/row_writer.hpp"

namespace popflow {

/// A run of a cell, by the cell's number, and where its results go.
struct CellRun {
  std::uint64_t number = 0;
  std::uint64_t run = 0;
  std::span<double> run_row;
  std::span<double> cell_row;  ///< the cell's own; runs of a cell may share it
};

/// Computes runs of cells, side by side where there are lanes. What neighbouring cells have in
/// common is made once: a new System only where an option differs that Systems know of, and where
/// only the start does, one that is no longer needed is given that. For one thread; `workers` serve
/// what is parallel within a run.
class CellRunner {
 public:
  /// `refusals`, if not null, is told why --keep-going goes on without a cell.
  CellRunner(const Cells& cells, const SweepColumns& columns, const Catalogue& catalogue,
             Workers& workers, std::function<bool()> interrupted, Refusals* refusals = nullptr);

  /// Computes as many of `runs` as go together, from the first on, and writes their rows. Returns
  /// how many; 0, without a meaning of the rows, if it was interrupted. Throws what the system
  /// refuses, with the cell, unless such cells are to be marked.
  std::size_t compute(std::span<const CellRun> runs);
  /// Throws what compute() would before the first step of a run.
  void require(const CellRun& run);
  /// How many would go together where the last ones did.
  [[nodiscard]] std::size_t together() const { return together_; }
  /// Numbers in memory while these are under way; 0 of a cell that is refused.
  [[nodiscard]] double numbers_of_last() const;

 private:
  /// A cell's System and what its runs have in common.
  struct Current {
    std::uint64_t number = 0;
    bool refused = false;
    std::shared_ptr<const RunPlan> plan = {};  ///< many cells may share it
    std::shared_ptr<const System> system = {};
    bool in_lanes = false;
    SweptSystem swept = {};

    /// The flow, where runs of this cell are flows that go side by side with others; else null.
    [[nodiscard]] const FlowPlan* flow_in_lanes() const;
    /// Are runs computed side by side?
    [[nodiscard]] bool side_by_side() const;
  };
  /// A run under way.
  struct Job {
    CellRun of;
    std::shared_ptr<const Current> cell;
    std::optional<RowWriter> writer = {};
    std::optional<Trajectory> run = {};
    bool failed = false;  ///< by an exception of the system's own
  };
  const Current& enter(std::uint64_t number);
  void make(Current& next);
  [[nodiscard]] std::shared_ptr<const System> system_of(std::uint64_t number);
  [[nodiscard]] std::unique_ptr<System> make_system();
  /// Gives config_ a cell's values.
  void set(std::uint64_t number);
  [[nodiscard]] std::shared_ptr<const RunPlan> plan_of(const Current& next);
  struct FailedTogether;
  /// Computes runs that go together; false if they were interrupted.
  bool compute(std::vector<Job>& jobs);
  /// Those of `runs` that go together, beginning with the first.
  [[nodiscard]] std::vector<Job> jobs(std::span<const CellRun> runs);
  /// Gives all their drivers; false if the cell is refused and is to be marked.
  bool make_drivers_of(std::vector<Job>& jobs);
  /// Start of a run of the last cell, if not the System's.
  [[nodiscard]] std::optional<Restart> start_of(const Job& job, const Driver& driver) const;
  /// Moves all to their ends; false if they were interrupted.
  [[nodiscard]] bool move(std::vector<Job>& jobs);
  /// Calls `make` for a cell. Returns false if it refuses the cell and such cells are to be marked.
  template <class Make>
  bool accepted(std::uint64_t number, Make make) const;
  /// Calls something for all of them; as accepted() where they are of one cell.
  template <class Call>
  bool all_accepted(const std::vector<Job>& jobs, Call call) const;
  void write_cell(const Current& cell, std::span<double> row) const;
  /// What Systems tell one cell from another by.
  enum class Difference { none, start, problem };
  [[nodiscard]] Difference difference(std::uint64_t a, std::uint64_t b) const;

  const Cells& cells_;
  const SweepColumns& columns_;
  const Catalogue& catalogue_;
  Workers& workers_;
  std::function<bool()> interrupted_;
  const NewStart& new_start_;           ///< of the system
  std::vector<Difference> along_axes_;  ///< what differs along each
  Refusals* refusals_ = nullptr;
  bool keep_going_ = false;           ///< are refused cells to be marked?
  bool options_vary_ = false;         ///< do options of `run` differ between cells?
  bool observed_ = false;             ///< whether what is watched differs from the System's own
  bool trained_ = false;              ///< whether any cell trains by a rule other than plain SGD
  RunConfig config_;                  ///< of the last cell
  std::optional<std::uint64_t> set_;  ///< its number, if config_ is whole
  std::unique_ptr<const Circumstances> circumstances_;  ///< of systems, if options do not vary
  std::optional<ContinuedRuns> continued_;              ///< as much
  std::shared_ptr<const Current> current_;
  /// Systems of the problem of a cell, `problem_of_`, that can be given other starts; the one whose
  /// start is the oldest first.
  std::deque<std::shared_ptr<System>> known_;
  std::uint64_t problem_of_ = 0;
  std::optional<FlowLanes> lanes_;  ///< of the flows that are under way together
  std::size_t together_ = 1;
};

}  // namespace popflow
