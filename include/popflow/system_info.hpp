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

// ---- What a system is, before any problem is drawn: the reference page, and the names of all
// ---- that its instances can hold.

struct DimensionInfo {
  std::string name;
  std::string meaning;
};

/// A recorded state field, by the paper's name.
struct FieldInfo {
  std::string name;
  std::vector<std::string> dimensions;  ///< without run and time
  std::string symbol;                   ///< plain text, as all symbols: mu_k, V', |W|_F, lambda
  std::string meaning;                  ///< becomes long_name
  std::string source;                   ///< equation or section; empty: the system's source
  std::string when = {};                ///< in which variant it is there; empty: always
};

struct ObservableInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  std::string source;
  /// Rounding error of a quantity that is never negative (a loss, a distance, an error): smaller
  /// values mean nothing. Comparisons then ask how far down it goes, by ratios. 0: it may be
  /// negative, or ratios of it say nothing.
  double floor = 0;
};

/// Something that happens once: the first upward crossing of zero of a function of the state.
struct EventInfo {
  std::string name;
  std::string meaning;
  std::string after = {};  ///< detected only from this event on
  /// Of an extremum, how far it must stand out: its function crosses zero upwards at minima of its
  /// height (Events::event_height), and it is the lowest of them when the height has risen from
  /// there by this much. 0: the first crossing is the event.
  double prominence = 0;
};

/// A conserved quantity, by the observable that shows it.
struct InvariantInfo {
  enum class Form {
    zero,      ///< the observable itself is the drift
    constant,  ///< the drift is the observable's change since the start
  };
  std::string observable;
  Form form = Form::zero;
  std::string meaning;  ///< what is conserved, and when
};

/// The times at which many items (tokens, say) each pass a level for the first time: a dataset of
/// its own, since events have room for few.
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

/// A stage of a training whose rule changes on the way.
struct StageInfo {
  std::string word;  ///< without blanks
  std::string meaning;
};

/// A scalar reported for the end of a run only: of its last state after post-processing.
struct FinalInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
  bool warns = false;  ///< counts failures, and is 0 when there were none
};

/// A dataset of a problem file.
struct ProblemDatasetInfo {
  std::string name;
  std::vector<std::string> dimensions;
  std::string meaning;  ///< with what is checked of it
};

struct ConstantInfo {
  std::string name;
  std::string symbol;
  std::string meaning;
};

/// A word that an option takes.
struct OptionSetting {
  std::string option;  ///< of the system's own, without dashes
  std::string word;
};

/// A rung of comparisons that only this system has: its flow with other settings.
struct RungInfo {
  std::string word;
  std::string meaning;
  std::vector<OptionSetting> settings;
};

/// Options of which one says instead of another what a run is made from. Each choice is one option
/// or several that go together.
struct Alternatives {
  std::vector<std::vector<std::string>> choices;
  /// Two of them are always one too many. Elsewhere they may say the same.
  bool exclusive = false;
};

/// Everything that can be said of a system without a problem. One static instance per system.
struct SystemInfo {
  std::string name;
  std::string title;      ///< a line
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
  std::string end = {};                          ///< the default of --t-end, in a sentence
  std::vector<PassageInfo> passages = {};
  std::vector<OutcomeInfo> outcomes = {};  ///< besides "undecided"; empty: the system has none
  std::vector<StageInfo> stages = {};      ///< in their order; empty: the system has none
  std::vector<FinalInfo> finals = {};
  /// The options with which final values are reported (Shape::finals), each of them enough, with
  /// this word or, where that is empty, any value. Empty: there may be some with any options.
  std::vector<OptionSetting> finals_with = {};
  /// What the last state is turned into, for finals that come in pairs NAME_before and NAME_after.
  std::string final_title = {};
  /// The options that give the unreduced System: only there is noise exact in law, and reduced
  /// coordinates are tested against it. Empty: there are no reduced coordinates.
  std::vector<OptionSetting> unreduced = {};
  std::vector<Alternatives> alternatives = {};  ///< among its options, and those of `run`
  std::vector<RungInfo> rungs = {};             ///< besides those that every system has
  /// What figures of its runs show, the most telling panel first, and empty: its observables, a
  /// panel each. Panels stand between semicolons: names of observables that share one, or of a
  /// field or a passage; "y over x" is a plane; "at" and "when" name constants or parameters that
  /// lines mark across and up; "by" is the dataset of the problem that shades a field's entries,
  /// "beside" that which it is to become, or "topics" for a matrix over the words of topics.
  /// E.g. "loss at loss_minimum; signal_A over signal_V; V beside P; v by target".
  std::string figure = {};
  /// What figures of its sweeps show of each cell, the most telling first: names of observables,
  /// passages and events, and the word "outcome", between blanks.
  std::string figure_of_sweeps = {};
  /// Have its flows lanes (InLanes), with these parameters of its own? Empty: never.
  std::function<bool(const Parameters& own)> flow_in_lanes = {};
};

// ---- What one instance (a problem in chosen coordinates) holds.

/// A block of the integration state whose entries share a natural scale: absolute tolerances are
/// multiples of it.
struct StateBlock {
  std::string name;
  std::size_t size = 0;
  double scale = 1;
};

/// The names chosen from SystemInfo, and the sizes.
struct Shape {
  std::vector<StateBlock> blocks;         ///< in the order of the state vector
  std::vector<DimensionSpec> dimensions;  ///< of fields and problem
  std::vector<std::string> fields;        ///< recorded state fields of this variant
  std::vector<std::string> invariants;    ///< observables of the invariants that hold here
  std::vector<std::string> events;        ///< events that are defined here
  std::vector<std::pair<std::string, double>> constants;
  std::vector<std::string> passages = {};  ///< passages that are defined here
  bool stages = false;                     ///< is it trained in the stages of SystemInfo?
  bool finals = false;                     ///< are final values reported?
  /// Why the observables are not those of the unreduced coordinates; empty: the reduction is exact.
  std::string approximation = {};
  [[nodiscard]] std::size_t state_size() const;
  /// Product of the sizes of dimensions that `dimensions` names.
  [[nodiscard]] std::size_t size_of(const std::vector<std::string>& names) const;
  /// Of an entry of the state, for messages: "x[2]", or "x" of a block of one.
  [[nodiscard]] std::string name_of_entry(std::size_t entry) const;
};

/// Items of all of a system's passages together.
std::size_t passage_items(const SystemInfo& info, const Shape& shape);
/// The entry of a passage.
const PassageInfo& passage_info(const SystemInfo& info, const std::string& name);

}  // namespace popflow
