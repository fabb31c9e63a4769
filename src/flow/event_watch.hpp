#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "popflow/driver.hpp"
#include "popflow/system.hpp"

namespace popflow {

/// EventInfo::prominence of an event in Shape::events.
double prominence(const System& system, std::size_t event);

/// Finds the System's events along a flow. Each event is watched from the start, or from the event
/// that must precede it, and is located within its step by the caller's probe. Its function must
/// have been negative since then: a function that is zero or positive where the watch begins must
/// first become negative, and events that must follow it are watched at once. The same rules hold
/// for first passages (passages.hpp) and for noisy runs (noise/crossings.hpp). Only an extremum may
/// lie where the watch begins. An extremum with a prominence is located when the flow passes it and
/// becomes an event, with that time, once it has stood out far enough.
class EventWatch {
 public:
  /// Returns the state after a fraction (0 to 1) of the step.
  using Probe = std::function<StateView(double part)>;

  /// `events`: the System's capability.
  EventWatch(const System& system, Capability<Events> events);

  /// Begins at the start of a trajectory.
  void start(StateView x, double t);
  /// Whether any event can still happen.
  [[nodiscard]] bool watching() const {
    for (const Watch& watch : watches_)
      if (watch.stage == Watch::armed) return true;
    return false;
  }
  /// Sign of the change that the given event awaits: 1 if its function must become non-negative, -1
  /// if it must become negative first, 0 if the event cannot happen (any more).
  [[nodiscard]] int awaits(std::size_t event) const {
    if (event >= watches_.size() || watches_[event].stage != Watch::armed) return 0;
    return watches_[event].value < 0 ? 1 : -1;
  }
  /// Whether any event is an extremum.
  [[nodiscard]] bool any_extremum() const;
  /// Takes the event functions and heights at t_new, the end of a step. Returns true if no event
  /// can have happened in the step; the step then counts as searched, and find() is not needed.
  [[nodiscard]] bool quiet(double t_new, std::span<const double> values,
                           std::span<const double> heights);
  enum class Found {
    nothing,
    located,  ///< the caller must repeat the step, because `probe` has overwritten its result
    within,   ///< an event happened in the step, but is not located
  };
  /// Locates, with a probe, the events of the step of length h from t to x_new at t_new. `known`:
  /// the event functions at t_new, or empty if unknown.
  Found find(double t, double h, StateView x_new, double t_new, const Probe& probe,
             std::span<const double> known = {});
  /// Handles a regime switch at x: events that the switch itself triggers happen now.
  void switched(StateView x, double t);

  /// Events found so far, in order of time.
  [[nodiscard]] const std::vector<FoundEvent>& found() const { return found_; }

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  struct Watch {
    enum Stage { waiting, armed, fired };
    Stage stage = waiting;
    double time = 0;        ///< armed: time at which `value` was taken; fired: time of the event
    double value = 0;       ///< event function at `time`
    double candidate = -1;  ///< time of the lowest extremum candidate so far; negative: none
    double height = 0;      ///< height of the candidate
  };
  /// Inline capacity, which most Systems do not exceed. It avoids allocations, because sweeps
  /// construct many of these objects.
  static constexpr std::size_t kMost = 4;
  using Values = std::span<const double>;
  /// Buffer for the values of the event functions; the next call with the same Place overwrites it.
  enum class Place { now, there };
  [[nodiscard]] std::span<double> values(StateView x, double t, Place place);
  [[nodiscard]] double height(std::size_t event, StateView x, double t) const;
  /// Whether the event function, now `value`, has crossed zero upwards.
  [[nodiscard]] bool rises(std::size_t event, double value) const;
  /// Whether a candidate exists whose height falls again; `value` is the event function now.
  [[nodiscard]] bool turns(std::size_t event, double value) const;
  /// Whether the height has risen far enough above the height of the candidate.
  [[nodiscard]] bool stands_out(std::size_t event, double height) const;
  /// Marks everything up to t as searched.
  void pass(double t, Values values);
  /// Begins to watch at x, where the event functions have the given values.
  void arm(std::size_t event, StateView x, double time, Values values);
  /// Begins to watch the events that must follow the given one.
  void arm_followers(std::size_t event, StateView x, double time, Values values);
  /// Handles an event function that has become positive at x.
  void cross(std::size_t event, StateView x, double time, Values values);
  /// Records the event at time `when`, detected at x.
  void fire(std::size_t event, double when, StateView x, double time, Values values);
  /// Makes the candidate an event if it stands out.
  void confirm(std::size_t event, StateView x, double time, Values values);
  [[nodiscard]] double locate(std::size_t event, double t, double h, double value_new,
                              const Probe& probe);
  /// Checks the candidate against the largest height within the step, because at the end of the
  /// step the height may be too low again.
  void check_top(std::size_t event, double t, double h, double value_new, const Probe& probe);
  /// Neighbouring fractions of the step between which the event function changes its sign.
  [[nodiscard]] std::pair<double, double> bracket(std::size_t event, double t, double h,
                                                  double value_new, const Probe& probe);

  const System& system_;
  Capability<Events> events_;
  boost::container::small_vector<double, kMost> prominence_;
  boost::container::small_vector<Watch, kMost> watches_;
  std::vector<FoundEvent> found_;
  boost::container::small_vector<double, 2 * kMost> values_;  ///< values at both places
};

}  // namespace popflow
