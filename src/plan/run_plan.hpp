#pragma once

#include <cstddef>
#include <string>

#include "plan/course.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// Saves that hold the full state.
enum class StateSaves { all, ends, none };

/// Value of --state as a StateSaves, and back.
StateSaves state_saves(const std::string& word);
std::string word_of(StateSaves saves);

/// Plan of a run or ensemble, determined by its options and its System. The System and its
/// parameters are stored separately.
struct RunPlan {
  ModePlan mode;
  Course course;
  bool ensemble = false;  ///< whether files have a dimension run
  std::size_t runs = 1;
  std::size_t first_run = 0;  ///< number of the first run
  StateSaves states = StateSaves::all;
  bool states_were_cut = false;  ///< whether the plan reduced the recorded states by itself
  double checkpoint_every = 0;   ///< in seconds

  [[nodiscard]] const Schedule& schedule() const { return course.schedule; }
  /// Flow time of a step if time is counted in whole steps; otherwise 0.
  [[nodiscard]] double step_length() const { return popflow::step_length(mode); }
};

/// Context of a run: a cell of a sweep uses lanes by default, if it can.
enum class Asked { alone, in_sweep };

/// Plans a run of a System. The options of `run` must have been completed by complete_run(); they
/// are not changed. Throws UsageError if the options contradict each other or the System.
RunPlan plan_run(const Parameters& options, const System& system, Asked asked = Asked::alone);

/// Whether a flow of a sweep is integrated in lanes, judged by the description of the system alone.
bool cell_in_lanes(const FlowPlan& flow, const Parameters& options, const SystemInfo& info,
                   const Parameters& own);

/// Limit on the bytes of recorded states; larger states are recorded only on request.
inline constexpr double kMostStates = 1024.0 * 1024 * 1024;

/// Bytes of the states recorded at all saves; 0 if only a few saves hold states.
double bytes_of_states(const RunPlan& plan, const System& system);

/// Reduces the recorded states to the first and the last, because all states together are too
/// large.
void cut_states(RunPlan& plan);

/// Writes the plan's resolved values into the options of `run`, so that the options alone reproduce
/// the run.
void record(const RunPlan& plan, Parameters& options);

}  // namespace popflow
