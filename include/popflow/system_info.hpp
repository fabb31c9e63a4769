#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "popflow/file_layout.hpp"
#include "popflow/parameter.hpp"

namespace popflow {

// ---- Description of a system before any problem is drawn: the reference page, and the names of
// ---- all values that its instances can hold.

struct DimensionInfo {
  std::string name;
  std::string meaning;
};

/// A recorded state field, by the paper's name.
struct FieldInfo {
  std::string name;
  std::vector<std::string> dimensions;  ///< without the dimensions run and time
  std::string symbol;                   ///< plain text, like all symbols: mu_k, V', |W|_F, lambda
  std::string meaning;                  ///< written as long_name
  std::string source;                   ///< equation or section; empty: the system's source
  std::string when = {};                ///< variant in which it exists; empty: always
};

struct ObservableInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  std::string source;
  /// Rounding error of a quantity that is never negative (a loss, a distance, an error); smaller
  /// values are meaningless. Comparisons then also compare ratios (how far down the quantity goes).
  /// 0: the quantity may be negative, or its ratios have no meaning.
  double floor = 0;
};

/// An event that happens at most once: the first upward zero crossing of a function of the state.
struct EventInfo {
  std::string name;
  std::string meaning;
  std::string after = {};  ///< event that must happen first, or lie before the watch for it
  /// For an extremum, the height by which it must stand out. Its function crosses zero upwards at
  /// minima of its height (Events::event_height), and the event is the lowest minimum once the
  /// height has risen from there by this much. 0: the first crossing is the event.
  double prominence = 0;
};

/// A conserved quantity, measured by an observable.
struct InvariantInfo {
  enum class Form {
    zero,      ///< the observable itself is the drift
    constant,  ///< the drift is the observable's change since the start
  };
  std::string observable;
  Form form = Form::zero;
  std::string meaning;  ///< the conserved quantity, and the conditions
};

/// First-passage times of many items, such as tokens, each through its own level. A separate
/// dataset, because events have room for only a few.
struct PassageInfo {
  std::string name;
  std::vector<std::string> dimensions;
  std::string symbol;
  std::string meaning;
  std::string source;
};

/// A possible outcome of a run, in the system's own terms.
struct OutcomeInfo {
  std::string word;  ///< at most 16 letters
  std::string meaning;
};

/// A stage of a training whose rule changes along the way.
struct StageInfo {
  std::string word;  ///< without blanks
  std::string meaning;
};

/// A scalar of a run's last state after post-processing, reported only at the end.
struct FinalInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  bool warns = false;  ///< whether it counts failures (0: none)
};

/// A dataset of a problem file.
struct ProblemDatasetInfo {
  std::string name;
  std::vector<std::string> dimensions;
  std::string meaning;  ///< including what is checked
};

struct ConstantInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
};

/// A word of an option.
struct OptionSetting {
  std::string option;  ///< system's own option, without dashes
  std::string word;
};

/// A rung of comparisons that only this system has: its flow with different settings.
struct RungInfo {
  std::string word;
  std::string meaning;
  std::vector<OptionSetting> settings;
};

/// Options that are alternatives for determining a run. Each choice is one option or several that
/// go together.
struct Alternatives {
  std::vector<std::vector<std::string>> choices;
  /// Whether two of the choices always exclude each other. Otherwise they may be given together if
  /// they agree.
  bool exclusive = false;
};

/// Description of a system that does not depend on a problem. One static instance per system.
struct SystemInfo {
  std::string name;
  std::string title;      ///< one line
  std::string source;     ///< the paper
  std::string equations;  ///< plain text, several lines
  ParameterTable parameters;
  std::vector<DimensionInfo> dimensions;
  std::vector<FieldInfo> fields;
  std::vector<ObservableInfo> observables;
  std::vector<EventInfo> events;
  std::vector<InvariantInfo> invariants;
  std::vector<ConstantInfo> constants;
  std::vector<ProblemDatasetInfo> problem = {};  ///< what --problem reads
  std::string end = {};                          ///< default of --t-end, in words
  std::vector<PassageInfo> passages = {};
  std::vector<OutcomeInfo> outcomes = {};  ///< besides "undecided"; empty if the system has none
  std::vector<StageInfo> stages = {};      ///< in order; empty if the system has none
  std::vector<FinalInfo> finals = {};
  /// Options with which final values are reported (Shape::finals). Any one of them suffices, with
  /// this word or, if the word is empty, with any value. Empty: any options may have final values.
  std::vector<OptionSetting> finals_with = {};
  /// Title for the result of post-processing the last state, for finals that come in pairs
  /// NAME_before and NAME_after.
  std::string final_title = {};
  /// Options that give the unreduced System, which is the only one whose noise has the right
  /// distribution, and the reference for tests of reduced coordinates. Empty: there are no reduced
  /// coordinates.
  std::vector<OptionSetting> unreduced = {};
  /// Options under which the flow follows raw gradients, without preconditioner and projection.
  /// Empty: no option changes this.
  std::vector<OptionSetting> raw_gradients = {};
  /// Alternatives among the system's own options and those of `run`.
  std::vector<Alternatives> alternatives = {};
  std::vector<RungInfo> rungs = {};  ///< in addition to the rungs of every system
  /// Panels of the figures of its runs, the most important first, separated by semicolons; empty:
  /// one panel for each observable. Example: "loss at loss_minimum; signal_A over signal_V; V
  /// beside P". A panel consists of
  ///
  /// - names of observables that share the panel, or the name of a field or a passage
  /// - "y over x": a plane
  /// - "at" and "when": constants or parameters, marked by horizontal and vertical lines
  /// - "by": dataset of the problem that shades a field's entries
  /// - "beside": dataset to which a field should converge, or "topics" for a matrix over the words
  ///   of topics
  std::string figure = {};
  /// Quantities that figures of its sweeps show for each cell, the most important first: names of
  /// observables, passages and events, and the word "outcome", separated by blanks.
  std::string figure_of_sweeps = {};
  /// Whether its flows have lanes (InLanes) with these parameters. Empty: never.
  std::function<bool(const Parameters& own)> flow_in_lanes = {};
};

// ---- Description of one instance: a problem in chosen coordinates.

/// A block of the integration state whose entries share a natural scale: absolute tolerances are
/// multiples of it.
struct StateBlock {
  std::string name;
  std::size_t size = 0;
  double scale = 1;
};

/// Names chosen from SystemInfo, and sizes.
struct Shape {
  std::vector<StateBlock> blocks;         ///< in the order of the state vector
  std::vector<DimensionSpec> dimensions;  ///< of fields and the problem
  std::vector<std::string> fields;        ///< recorded state fields of this variant
  std::vector<std::string> invariants;    ///< observables of the invariants that hold here
  std::vector<std::string> events;        ///< events that are defined here
  std::vector<std::pair<std::string, double>> constants;
  std::vector<std::string> passages = {};  ///< passages that are defined here
  bool stages = false;                     ///< whether it is trained in the stages of SystemInfo
  bool finals = false;                     ///< whether final values are reported
  /// Reason why the observables differ from those in unreduced coordinates; empty: the reduction is
  /// exact.
  std::string approximation = {};
  [[nodiscard]] std::size_t state_size() const;
  /// Product of the sizes of the dimensions that `names` lists.
  [[nodiscard]] std::size_t size_of(const std::vector<std::string>& names) const;
  /// Name of an entry of the state, for messages: "x[2]", or "x" for a block with one entry.
  [[nodiscard]] std::string name_of_entry(std::size_t entry) const;
};

/// Number of items of all passages of a system.
std::size_t passage_items(const SystemInfo& info, const Shape& shape);
/// The entry of a passage in the system's table.
const PassageInfo& passage_info(const SystemInfo& info, const std::string& name);

}  // namespace popflow
