#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "observed/observation.hpp"
#include "plan/course.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/setting.hpp"
#include "popflow/system.hpp"
#include "training/training_plan.hpp"

namespace popflow {

/// Saves that hold the full state.
enum class StateSaves { all, ends, none };

/// Source of the problem and of the start.
struct ProblemPlan {
  std::optional<std::string> file = {};   ///< --problem
  std::uint64_t seed = 1;                 ///< --problem-seed
  std::optional<std::string> start = {};  ///< --init-from

  bool operator==(const ProblemPlan&) const = default;
};

struct EnsemblePlan {
  bool is_one = false;  ///< whether files have a dimension run
  std::size_t runs = 1;
  std::size_t first_run = 0;  ///< number of the first run
};

struct OutputPlan {
  std::optional<StateSaves> asked_states = {};  ///< --state
  StateSaves states = StateSaves::all;
  bool states_were_cut = false;  ///< whether the plan reduced the recorded states by itself
  double checkpoint_every = 0;   ///< in seconds
};

/// Plan of a run or ensemble. plan_of() makes it from the options alone, before the System, which
/// problem, mode, training and observation determine. completed() adds what only the System knows:
/// the default end and with it the times, SIMD lanes, and the states that fit.
struct Plan {
  ProblemPlan problem = {};
  ModePlan mode = {};
  std::optional<TrainingPlan> training = {};  ///< nothing: plain SGD at a constant learning rate
  Observation observation = {};
  Course course = {};
  EnsemblePlan ensemble = {};
  OutputPlan output = {};

  [[nodiscard]] const Schedule& schedule() const { return course.schedule; }
  /// Flow time of a step if time is counted in whole steps; otherwise 0.
  [[nodiscard]] double step_length() const { return popflow::step_length(mode); }
};

/// Makes the plan from options of `run` that complete_run() has completed. Throws UsageError if
/// they contradict each other.
Plan plan_of(const Parameters& options);

/// Setting of the run, from which a System is made. `start` is the start that --init-from names, or
/// null.
Setting setting_of(const Plan& plan, const LastState* start);

/// Whether the two plans make equal Systems from equal parameters of the system. Systems depend on
/// nothing else.
bool make_same_system(const Plan& a, const Plan& b);

/// Context of a run: a cell of a sweep uses lanes by default, if it can.
enum class Context { alone, in_sweep };

/// Returns the plan with all that its System determines. `start` is that of setting_of(). Throws
/// UsageError if the System does not allow the plan.
Plan completed(Plan plan, const System& system, const LastState* start = nullptr,
               Context context = Context::alone);

/// Whether a flow of a sweep is integrated in lanes, judged by the description of the system alone.
bool cell_in_lanes(const FlowPlan& flow, const SystemInfo& info, const Parameters& own);

/// Limit on the bytes of recorded states; larger states are recorded only on request.
inline constexpr double kMostStates = 1024.0 * 1024 * 1024;

/// Bytes of the states recorded at all saves; 0 if only a few saves hold states.
double bytes_of_states(const Plan& plan, const System& system);

/// Reduces the recorded states to the first and the last, because all states together are too
/// large.
void cut_states(Plan& plan);

/// Writes the values of a completed plan into the options of `run`, so that the options alone
/// reproduce the run.
void record(const Plan& plan, Parameters& options);

}  // namespace popflow
