#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "popflow/catalogue.hpp"
#include "popflow/lanes.hpp"

namespace popflow {

/// One problem of a FunctionSystem: its start, its right-hand side, and optionally more, each value
/// with its function. The system lacks every capability that is left empty. `x` is the whole state,
/// the fields one after the other.
struct Functions {
  using Value = std::function<double(std::span<const double> x, double t)>;
  using Vector = std::function<void(std::span<const double> x, double t, std::span<double> out)>;

  /// A part of the state, recorded under its own name.
  struct Field {
    std::string name;
    std::vector<double> start;
    std::string meaning;
    std::string symbol = {};
    /// Axes by name and length, row-major. Empty: a scalar, or a single axis called NAME_index.
    std::vector<std::pair<std::string, std::size_t>> axes = {};
    double scale = 1;  ///< natural size of its entries
    /// Whether the entries, or each row of a field with two axes, keep the norm of the start. `rhs`
    /// and the samples are tangential, and runs with noise or samples scale back after each step.
    bool sphere = false;
  };
  /// Numbers derived from the state: recorded like a field, or compared with levels of passages.
  struct Derived {
    std::string name;
    std::string meaning;
    /// Axes by name and length, row-major; empty: a scalar.
    std::vector<std::pair<std::string, std::size_t>> axes;
    Vector values;
    std::string symbol = {};
  };
  struct Observable {
    std::string name;
    std::string meaning;
    Value value;
    std::string symbol = {};
    double floor = 0;  ///< ObservableInfo::floor
  };
  /// A quantity that the flow conserves, recorded as an observable of the same name.
  struct Invariant {
    std::string name;
    std::string meaning;
    Value value;
    std::string symbol = {};
  };
  /// The first time at which `value` crosses zero upwards; the start if `value` is non-negative
  /// there.
  struct Event {
    std::string name;
    std::string meaning;
    Value value;
  };
  struct Constant {
    std::string name;
    double value;
    std::string meaning;
    std::string symbol = {};
  };

  /// An array of the problem: recorded in the group `problem`, and replaced by that of a problem
  /// file (read_problem()).
  struct Array {
    std::string name;
    std::string meaning;
    std::vector<std::pair<std::string, std::size_t>> axes;  ///< one or two, by name and length
    std::vector<double> values;                             ///< row-major
  };
  /// A scalar of a run's last state, reported at the end.
  struct Final {
    std::string name;
    std::string meaning;
    Value value;
    std::string symbol = {};
  };

  std::vector<Field> state;
  Vector rhs;
  /// Lends the functions the run's threads; called once, before the functions are used. Results
  /// must not depend on the number of threads.
  std::function<void(Workers& workers)> use_workers = {};
  std::vector<Observable> observables = {};
  std::vector<Invariant> invariants = {};
  std::vector<Event> events = {};
  std::vector<Constant> constants = {};
  std::vector<Derived> derived = {};  ///< recorded with the state
  /// Functions whose first upward zero crossings are recorded, one per item (NaN: no function for
  /// the item).
  std::vector<Derived> passages = {};
  double end = 10;              ///< default of --t-end; if not finite, the user must give one
  double first_stage_time = 0;  ///< System::first_stage_time()
  /// Longest step of adaptive methods, unless --max-step gives another. Steps do not miss a short
  /// pulse in the right-hand side if it lasts longer than this.
  double max_step = std::numeric_limits<double>::infinity();
  /// Capabilities::jumps
  bool jumps = false;

  /// Potential of a gradient flow: dx/dt = -M grad loss, where M is the identity unless
  /// `precondition` applies it to a vector in place. Recorded as the observable `loss`.
  Value loss = {};
  double loss_floor = 0;  ///< ObservableInfo::floor of the loss
  std::function<void(std::span<const double> x, std::span<double> v)> precondition = {};
  /// Row-major d(dx_i/dt)/dx_j. Only for right-hand sides that do not depend on t.
  std::function<void(std::span<const double> x, std::span<double> j)> jacobian = {};
  /// Writes the exact state at time t.
  std::function<void(double t, std::span<double> x)> solution = {};
  /// Adds `weight` times minus the gradient of one random sample at x to `out`; the expectation
  /// must be the right-hand side. `out` never overlaps x.
  std::function<void(std::span<const double> x, RandomStream& random, double weight,
                     std::span<double> out)>
      sample = {};
  /// Does the work of `sample` for all samples of a minibatch: sample i comes from key.stream(i)
  /// and has the weight weights[i]. Only one of the two may be given.
  std::function<void(std::span<const double> x, double t, const SampleKey& key,
                     std::span<const double> weights, std::span<double> out)>
      samples = {};
  /// Writes the covariance of the samples' vectors, row-major. Without samples, writes that of the
  /// noise in the SDE, for a learning rate and a batch size of 1.
  std::function<void(std::span<const double> x, double t, std::span<double> c)> covariance = {};
  /// A finite set of samples. The functions `rhs`, `loss`, `samples` and `covariance` that are left
  /// empty follow from the set; the covariance does so only for states of up to
  /// kLargestOfCovariance entries.
  struct FiniteData {
    std::size_t samples = 0;
    std::vector<double> probability = {};  ///< of each sample, to be normalised; empty: all equal
    /// Adds weights[i] times minus the gradient of sample which[i] at x to `out`. In training,
    /// `key` has the step and the number of samples drawn before.
    std::function<void(std::span<const double> x, double t, const SampleKey& key,
                       std::span<const std::size_t> which, std::span<const double> weights,
                       std::span<double> out)>
        add = {};
    std::function<double(std::span<const double> x, double t, std::size_t which)> loss = {};
    /// Whether sampled training visits every sample once in each pass (visit_in_passes()). Needs
    /// equal probabilities. The noise of the SDE is that of independent draws in either case.
    bool epochs = false;
    /// In epochs: whether passes leave out samples that do not fill a batch.
    bool drop_last = false;
  };
  std::optional<FiniteData> finite = {};
  static constexpr std::size_t kLargestOfCovariance = 256;
  /// Projects noise at x onto the directions in which it may act, in place.
  std::function<void(std::span<const double> x, std::span<double> noise)> project_noise = {};
  /// Reason why there is no Jacobian, for users of implicit methods.
  std::string no_jacobian = {};
  std::vector<Array> arrays = {};
  std::vector<Final> finals = {};
  /// Write the values of all observables, then of all invariants; of all events; of all finals. For
  /// values that share work: the items then need no functions of their own.
  Vector all_observed = {}, all_events = {}, all_finals = {};
  std::vector<OutcomeInfo> outcomes = {};  ///< besides "undecided"
  /// Returns one of the outcomes' words, or "undecided".
  std::function<std::string(std::span<const double> x, double t)> outcome = {};
  /// Reason why these coordinates allow no noise; empty if they do.
  std::string no_noise = {};
  /// Shape::approximation: reason why the observables differ from those in unreduced coordinates
  /// or, for the state of noisy runs and sampled training, from those of the flow.
  std::string approximation = {};
  /// Capabilities::common_values
  bool common_values = false;
  std::vector<Note> notes = {};  ///< shown at the start of a run

  /// Formulas of the functions above for many problems at once, in vector registers: flows of a
  /// sweep then take a fraction of the time. Made by in_lanes() (pack.hpp). They must agree with
  /// the functions above, and must not depend on t. States with more than kLargestInLanes entries
  /// do not use them.
  struct Lanes {
    std::vector<double> of = {};     ///< numbers in which problems differ
    LaneFormula rhs = nullptr;       ///< writes dx/dt
    LaneFormula events = nullptr;    ///< writes the values of all events
    LaneFormula passages = nullptr;  ///< writes the values of all passages
    /// LaneFormulas::flow_and_covariance
    LaneCovarianceFormula rhs_and_covariance = nullptr;
  };
  std::optional<Lanes> lanes = {};
};

/// Right-hand side of a single problem, from a formula that in_lanes() can also use for many
/// problems.
template <class Formula>
Functions::Vector alone(Formula formula, std::vector<double> of) {
  return [formula, of = std::move(of)](std::span<const double> x, double /*t*/,
                                       std::span<double> out) {
    formula(std::span(of), x, out.data());
  };
}

/// First number that the formula writes for a single problem, such as the value of its event.
template <class Formula>
Functions::Value value_alone(Formula formula, std::vector<double> of) {
  return [formula, of = std::move(of)](std::span<const double> x, double /*t*/) {
    double value = 0;
    formula(std::span(of), x, &value);
    return value;
  };
}

/// Replaces the values of arrays by those of the problem file that the setting names, if it names
/// one. Each array that the file has is replaced. Throws InputError if the file has none of them,
/// or an array of another shape or with an entry that is not finite.
void read_problem(const Setting& setting, std::vector<Functions::Array>& arrays);

/// A system assembled from functions; everything else follows from them. All features for users
/// work: `--init-from`, files, events, resuming, noise, comparing, verifying. A system without
/// arrays has no problem file and refuses one.
struct FunctionSystem {
  std::string name;
  std::string title;      ///< one line
  std::string source;     ///< reference
  std::string equations;  ///< plain text, several lines
  ParameterTable parameters;
  /// Makes one problem. Throws UsageError for values that cannot be combined. Called with the
  /// defaults to find out what the system contains: names, including those of axes, must not depend
  /// on the parameters' values. If Setting::noisy is set, the state, its derived fields and the
  /// invariants may differ from those of the flow: the state may be weights if that of the flow
  /// consists of order parameters. All other names must be the same. Exceptions of this function
  /// and of the functions that it returns become SystemErrors. The returned functions are called
  /// from several threads at once, so they must not change what they capture.
  std::function<Functions(const Parameters& own, const Setting& setting)> functions;
  std::string end = {};                       ///< default of --t-end, in words
  std::vector<OptionSetting> unreduced = {};  ///< as in SystemInfo
  std::string figure = {};                    ///< as in SystemInfo
  std::string figure_of_sweeps = {};          ///< as in SystemInfo

  /// Returns a row of a Catalogue. If `functions` throws for the defaults, the row's make()
  /// rethrows the exception for any parameters. An inconsistent description is refused when a
  /// problem is made (SystemError).
  [[nodiscard]] CatalogueRow row() const;
  operator CatalogueRow() const { return row(); }  // NOLINT: catalogues are lists of systems
};

}  // namespace popflow
