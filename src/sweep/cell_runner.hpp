#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flow/flow_lanes.hpp"
#include "plan/plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/driver.hpp"
#include "run/continued_runs.hpp"
#include "run/last_state.hpp"
#include "sweep/cells.hpp"
#include "sweep/columns.hpp"
#include "sweep/refusal.hpp"
#include "sweep/row_writer.hpp"

namespace popflow {

/// Run of a cell, by the cell's number, and the place for its results.
struct CellRun {
  std::uint64_t number = 0;
  std::uint64_t run = 0;
  std::span<double> run_row;
  std::span<double> cell_row;  ///< the row of the cell, which its runs may share
};

/// Computes runs of cells, side by side if there are lanes. Neighbouring cells share what they have
/// in common. A new System is made only if an option on which Systems depend differs. If only the
/// start differs, a System that is no longer needed gets the new start. For one thread; `workers`
/// serve the parallel parts within a run.
class CellRunner {
 public:
  /// `refusals`, if not null, receives the reason of each cell that --keep-going skips.
  CellRunner(const Cells& cells, const SweepColumns& columns, const Catalogue& catalogue,
             Workers& workers, std::function<bool()> interrupted, Refusals* refusals = nullptr);

  /// Computes as many of `runs` as go together, beginning with the first, and writes their rows.
  /// Returns their number; 0 if interrupted, and the rows then have no meaning. Throws the refusal
  /// of a system, with the cell, unless such cells are to be marked.
  std::size_t compute(std::span<const CellRun> runs);
  /// Throws what compute() would throw before the first step of a run.
  void require(const CellRun& run);
  /// Returns how many runs would go together if they are like the last ones.
  [[nodiscard]] std::size_t together() const { return together_; }
  /// Returns how many numbers are in memory while these runs are computed; 0 for a cell that is
  /// refused.
  [[nodiscard]] double numbers_of_last() const;

 private:
  /// System of a cell and what its runs have in common.
  struct Current {
    std::uint64_t number = 0;
    bool refused = false;
    std::shared_ptr<const Plan> plan = {};  ///< many cells may share the plan
    std::shared_ptr<const System> system = {};
    bool in_lanes = false;
    SweptSystem swept = {};

    /// Returns the flow if runs of this cell are flows that go side by side with others; otherwise
    /// null.
    [[nodiscard]] const FlowPlan* flow_in_lanes() const;
    /// Returns whether runs are computed side by side.
    [[nodiscard]] bool side_by_side() const;
  };
  /// Run in progress.
  struct Job {
    CellRun of;
    std::shared_ptr<const Current> cell;
    std::optional<RowWriter> writer = {};
    std::optional<Trajectory> run = {};
    bool failed = false;  ///< an exception of the system ended it
  };
  const Current& enter(std::uint64_t number);
  void make(Current& next);
  [[nodiscard]] std::shared_ptr<const System> system_of(std::uint64_t number);
  [[nodiscard]] std::unique_ptr<System> make_system();
  /// Gives config_ the values of a cell.
  void set(std::uint64_t number);
  /// Returns the completed plan of a cell.
  [[nodiscard]] std::shared_ptr<const Plan> plan_for(const Current& next);
  struct FailedTogether;
  /// Computes runs that go together; returns false if they were interrupted.
  bool compute(std::vector<Job>& jobs);
  /// Returns the runs that go together, beginning with the first.
  [[nodiscard]] std::vector<Job> jobs(std::span<const CellRun> runs);
  /// Makes the drivers of all runs; returns false if the cell is refused and is to be marked.
  bool make_drivers_of(std::vector<Job>& jobs);
  /// Returns the start of a run of the last cell if it is not the System's.
  [[nodiscard]] std::optional<Restart> start_of(const Job& job, const Driver& driver) const;
  /// Advances all runs to their ends; returns false if they were interrupted.
  [[nodiscard]] bool move(std::vector<Job>& jobs);
  /// Advances a run to a save; returns false if it was interrupted.
  bool move(Job& job, std::size_t save) const;
  /// Writes the records by which a flow in lanes is ahead; `next` is the number of its next save.
  void write_records(Job& job, std::span<const double> records, std::size_t& next) const;
  /// Implements move() for several flows in lanes.
  bool move_in_lanes(std::vector<Job>& jobs);
  /// Calls `make` for a cell. Returns false if it refuses the cell and such cells are to be marked.
  template <class Make>
  bool accepted(std::uint64_t number, Make make) const;
  /// Calls a function for all runs; handles refusals as accepted() does if they are of one cell.
  template <class Call>
  bool all_accepted(const std::vector<Job>& jobs, Call call) const;
  void write_cell(const Current& cell, std::span<double> row) const;
  /// Difference between the parameters of the system in two cells.
  enum class Difference { none, start, problem };
  [[nodiscard]] Difference difference(std::uint64_t a, std::uint64_t b) const;

  const Cells& cells_;
  const SweepColumns& columns_;
  const Catalogue& catalogue_;
  Workers& workers_;
  std::function<bool()> interrupted_;
  const NewStart& new_start_;           ///< function of the system that gives it another start
  std::vector<Difference> along_axes_;  ///< difference along each axis
  Refusals* refusals_ = nullptr;
  bool keep_going_ = false;            ///< refused cells are marked
  bool options_vary_ = false;          ///< options of `run` differ between cells
  RunConfig config_;                   ///< configuration of the last cell
  std::shared_ptr<const Plan> asked_;  ///< plan of its options
  std::optional<std::uint64_t> set_;   ///< number of the last cell, if config_ is complete
  /// circumstances of all systems, if options do not vary
  std::unique_ptr<const Circumstances> circumstances_;
  /// continued ensemble, if options do not vary
  std::optional<ContinuedRuns> continued_;
  std::shared_ptr<const Current> current_;
  /// Systems of one problem, that of the cell `made_of_`, to which other starts can be given;
  /// the one whose start is the oldest comes first.
  std::deque<std::shared_ptr<System>> known_;
  std::shared_ptr<const Plan> made_as_;  ///< plan of the last System that was made
  std::uint64_t made_of_ = 0;            ///< number of its cell
  std::optional<FlowLanes> lanes_;       ///< lanes of the flows that run together
  std::size_t together_ = 1;
};

}  // namespace popflow
