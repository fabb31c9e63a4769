#pragma once

#include <cstddef>
#include <string>

#include "plan/course.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Which saves carry the full state.
enum class StateSaves { all, ends, none };

StateSaves state_saves(const std::string& word);
std::string word_of(StateSaves saves);

/// A run, or an ensemble of runs, as it will be: all that its options and its System decide. The
/// System and its own parameters stand beside it.
struct RunPlan {
  ModePlan mode;
  Course course;
  bool ensemble = false;  ///< there is a dimension run
  std::size_t runs = 1;
  std::size_t first_run = 0;  ///< number of the first of them
  StateSaves states = StateSaves::all;
  bool states_were_cut = false;  ///< without having been asked for
  double checkpoint_every = 0;   ///< s

  [[nodiscard]] const Schedule& schedule() const { return course.schedule; }
  /// Flow time of a step where time is counted in whole steps; else 0.
  [[nodiscard]] double step_length() const { return popflow::step_length(mode); }
};

/// Place of the run: a cell of a sweep takes lanes by itself, where there are any.
enum class Asked { alone, in_sweep };

/// Plans a run of a System. The options of `run` have been completed (complete_run()); this changes
/// none of them. Throws UsageError for what contradicts itself or the System.
RunPlan plan_run(const Parameters& options, const System& system, Asked asked = Asked::alone);

/// Does a flow of a sweep go in lanes? From what is declared, without the System.
bool cell_in_lanes(const FlowPlan& flow, const Parameters& options, const SystemInfo& info,
                   const Parameters& own);

/// More bytes of states than a file is to have that nobody has asked for.
inline constexpr double kMostStates = 1024.0 * 1024 * 1024;

/// Bytes of the states that are recorded at all saves; 0 where few are.
double bytes_of_states(const RunPlan& plan, const System& system);

/// The first and the last states alone are to be recorded, since there would be too many.
void cut_states(RunPlan& plan);

/// Writes into the options of `run` what the plan has resolved, so that they alone make the run
/// again.
void record(const RunPlan& plan, Parameters& options);

}  // namespace popflow
