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

/// One problem of a FunctionSystem: its start, its right-hand side, and whatever else is known of
/// it, each value with its function. The system lacks what is left empty. `x` is the whole state,
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
    /// Its axes by name and length, row-major; empty: one number, or one axis called NAME_index.
    std::vector<std::pair<std::string, std::size_t>> axes = {};
    double scale = 1;  ///< natural size of its entries
  };
  /// Numbers that follow from the state: recorded like a field of it, or the levels of passages.
  struct Derived {
    std::string name;
    std::string meaning;
    /// Its axes by name and length, row-major; empty: one number.
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
  /// The first time at which `value` crosses zero upwards; the start, where it is zero or positive
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

  std::vector<Field> state;
  Vector rhs;
  std::vector<Observable> observables = {};
  std::vector<Invariant> invariants = {};
  std::vector<Event> events = {};
  std::vector<Constant> constants = {};
  std::vector<Derived> derived = {};  ///< recorded along with the state
  /// Functions whose first upward zero crossings are recorded, one per item (NaN: the item has
  /// none).
  std::vector<Derived> passages = {};
  double end = 10;              ///< default of --t-end; if it is not finite, one has to be given
  double first_stage_time = 0;  ///< System::first_stage_time()
  /// Longest step that adaptive methods take, where --max-step gives no other: a right-hand side
  /// that acts for a short time only is seen if it lasts longer than this.
  double max_step = std::numeric_limits<double>::infinity();
  /// Capabilities::jumps
  bool jumps = false;

  /// The flow is dx/dt = -M grad loss, with M the identity unless `precondition` applies it to a
  /// vector in place. Recorded as the observable `loss`.
  Value loss = {};
  double loss_floor = 0;  ///< ObservableInfo::floor of the loss
  std::function<void(std::span<const double> x, std::span<double> v)> precondition = {};
  /// Row-major d(dx_i/dt)/dx_j. Only for right-hand sides that do not depend on t.
  std::function<void(std::span<const double> x, std::span<double> j)> jacobian = {};
  /// The exact state at time t.
  std::function<void(double t, std::span<double> x)> solution = {};
  /// Adds `weight` times minus the gradient of one random sample at x to `out`, its expectation
  /// being the right-hand side. `out` never overlaps x.
  std::function<void(std::span<const double> x, RandomStream& random, double weight,
                     std::span<double> out)>
      sample = {};
  /// Why these coordinates allow no noise; empty: they do.
  std::string no_noise = {};
  std::vector<Note> notes = {};  ///< shown at the start of a run

  /// The same functions for many problems side by side, in vector registers: flows of a sweep then
  /// take a fraction of the time. Made by in_lanes() (pack.hpp); they agree with the functions
  /// above, and do not depend on t. States of more than kLargestInLanes entries do without.
  struct Lanes {
    std::vector<double> of = {};     ///< the numbers in which problems differ
    LaneFormula rhs = nullptr;       ///< writes dx/dt
    LaneFormula events = nullptr;    ///< the values of all events
    LaneFormula passages = nullptr;  ///< those of all passages
  };
  std::optional<Lanes> lanes = {};
};

/// The right-hand side of one problem from the formula that in_lanes() takes for many.
template <class Formula>
Functions::Vector alone(Formula formula, std::vector<double> of) {
  return [formula, of = std::move(of)](std::span<const double> x, double /*t*/,
                                       std::span<double> out) {
    formula(std::span(of), x, out.data());
  };
}

/// The first number that the formula writes, for one problem: an event of it, say.
template <class Formula>
Functions::Value value_alone(Formula formula, std::vector<double> of) {
  return [formula, of = std::move(of)](std::span<const double> x, double /*t*/) {
    double value = 0;
    formula(std::span(of), x, &value);
    return value;
  };
}

/// A system assembled from functions; all else follows from these. Whatever a program's users see
/// of a system works: `--init-from`, files, events, resuming, noise, comparing, verifying. It has
/// no problem file and refuses one.
struct FunctionSystem {
  std::string name;
  std::string title;      ///< a line
  std::string source;     ///< where it comes from
  std::string equations;  ///< plain text, several lines
  ParameterTable parameters;
  /// Makes one problem. Throws UsageError for values that cannot be combined. Called with the
  /// defaults to know what the system has: names, those of axes too, must not depend on the
  /// parameters' values. Exceptions of it and of its functions become SystemErrors. Its functions
  /// are called from several threads at once: they must not change what they capture.
  std::function<Functions(const Parameters& own, const Setting& setting)> functions;
  std::string end = {};                       ///< the default of --t-end, in a sentence
  std::vector<OptionSetting> unreduced = {};  ///< as in SystemInfo
  std::string figure = {};                    ///< as in SystemInfo
  std::string figure_of_sweeps = {};          ///< as in SystemInfo

  /// A row of a Catalogue. What `functions` throws for the defaults is thrown by the row's make(),
  /// whatever the parameters are. A description that is inconsistent is refused when a problem is
  /// made (SystemError).
  [[nodiscard]] CatalogueRow row() const;
  operator CatalogueRow() const { return row(); }  // NOLINT: catalogues are lists of systems
};

}  // namespace popflow
