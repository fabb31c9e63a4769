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

/// The System's events along a flow: each is watched for from the start, or from the event that
/// must precede it, and located within its step by the caller's probe. An extremum that must stand
/// out is located when it is passed, and is an event, of that time, once it has proved to be the
/// one.
class EventWatch {
 public:
  /// The state after a fraction (0 to 1) of the step.
  using Probe = std::function<StateView(double part)>;

  /// `events`: the system's capability.
  EventWatch(const System& system, Capability<Events> events);

  /// Begins at the start.
  void start(StateView x, double t);
  /// Is there an event that could happen now?
  [[nodiscard]] bool watching() const {
    for (const Watch& watch : watches_)
      if (watch.stage == Watch::armed) return true;
    return false;
  }
  /// Could this one?
  [[nodiscard]] bool watching(std::size_t event) const {
    return event < watches_.size() && watches_[event].stage == Watch::armed;
  }
  /// Is any of them an extremum?
  [[nodiscard]] bool any_extremum() const;
  /// A step has been taken to t_new, where the event functions and their heights are these. True if
  /// find() has nothing to look for in it: then the step counts as looked at.
  [[nodiscard]] bool quiet(double t_new, std::span<const double> values,
                           std::span<const double> heights);
  enum class Found {
    nothing,
    located,  ///< the caller must repeat the step: `probe` has overwritten its result
    within,   ///< but not where
  };
  /// Have events happened in the step of length h from t to x_new at t_new? Then they are located,
  /// with a probe. `known`: the event functions there, or empty if they are not known.
  Found find(double t, double h, StateView x_new, double t_new, const Probe& probe,
             std::span<const double> known = {});
  /// The regime has changed at x: events that this itself triggers happen now.
  void switched(StateView x, double t);

  /// Those found so far, in order of time.
  [[nodiscard]] const std::vector<FoundEvent>& found() const { return found_; }

  void remember(DriverData& data) const;
  void restore(const DriverData& data);

 private:
  struct Watch {
    enum Stage { waiting, armed, fired };
    Stage stage = waiting;
    double time = 0;        ///< armed: since when `value` is known; fired: when
    double value = 0;       ///< of the event function then
    double candidate = -1;  ///< of extrema: when the lowest so far was; negative: none yet
    double height = 0;      ///< its
  };
  /// Most Systems have no more, and sweeps make many.
  static constexpr std::size_t kMost = 4;
  using Values = std::span<const double>;
  /// Those of the event functions; in one of two places, until that is next asked for.
  enum class Place { now, there };
  [[nodiscard]] std::span<double> values(StateView x, double t, Place place);
  [[nodiscard]] double height(std::size_t event, StateView x, double t) const;
  /// Has its function, `value` by now, become positive?
  [[nodiscard]] bool rises(std::size_t event, double value) const;
  /// Is there a candidate whose height falls again, the event function being `value` by now?
  [[nodiscard]] bool turns(std::size_t event, double value) const;
  /// Has the height come far enough above that of a candidate?
  [[nodiscard]] bool stands_out(std::size_t event, double height) const;
  /// All is known of what happened until t.
  void pass(double t, Values values);
  /// Begins to watch at x; `values` are those of the event functions there.
  void arm(std::size_t event, StateView x, double time, Values values);
  /// The event function has become positive at x.
  void cross(std::size_t event, StateView x, double time, Values values);
  /// The event happened at `when`; it is known at x.
  void fire(std::size_t event, double when, StateView x, double time, Values values);
  /// Has it proved to stand out?
  void confirm(std::size_t event, StateView x, double time, Values values);
  [[nodiscard]] double locate(std::size_t event, double t, double h, double value_new,
                              const Probe& probe);
  /// Does the candidate stand out at the top between there and here? The height may be too low
  /// again at the step's end.
  void look_at_top(std::size_t event, double t, double h, double value_new, const Probe& probe);
  /// Parts of the step next to each other between which the event function changes its sign.
  [[nodiscard]] std::pair<double, double> bracket(std::size_t event, double t, double h,
                                                  double value_new, const Probe& probe);

  const System& system_;
  Capability<Events> events_;
  boost::container::small_vector<double, kMost> prominence_;
  boost::container::small_vector<Watch, kMost> watches_;
  std::vector<FoundEvent> found_;
  boost::container::small_vector<double, 2 * kMost> values_;  ///< of both places
};

}  // namespace popflow
