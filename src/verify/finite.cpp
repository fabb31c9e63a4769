// Check that all values used by the other checks are finite, so that a NaN is reported with its
// name and place before it spoils derived results.

#include <cmath>

#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

/// Returns "x is NaN" for the first of these numbers that is not finite; empty if all are finite.
/// Numbers preset to NaN may simply not have been `written`.
template <class Name>
std::string not_finite(std::span<const double> values, Name&& name, bool written = true) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return name(i) + (!std::isnan(values[i]) ? " is infinite"
                        : written              ? " is NaN"
                                               : " is NaN or not written");
  return "";
}

/// Describes a non-finite value or an exception at a state; empty if there is none.
std::string not_finite_at(const System& system, const Point& at) {
  const Capabilities can = system.capabilities();
  const auto entry = [&](std::size_t i) { return system.shape().name_of_entry(i); };
  std::string found = not_finite(at.x, entry);
  const auto look = [&](const std::string& what, auto&& values, auto&& name, bool written) {
    if (!found.empty()) return;
    const std::string thrown = thrown_by([&] { found = not_finite(values(), name, written); });
    if (!thrown.empty()) found = what + " throws \"" + thrown + "\"";
  };
  look(
      "the right-hand side", [&] { return rhs_at(system, at); },
      [&](std::size_t i) { return "the right-hand side of " + entry(i); }, false);
  if (can.gradient_flow)
    look(
        "the loss", [&] { return std::vector{can.gradient_flow->loss(at.view(), at.t)}; },
        [](std::size_t) { return std::string("the loss"); }, true);
  if (can.events)
    look(
        "an event function",
        [&] {
          std::vector<double> values(system.shape().events.size(), std::nan(""));
          if (!values.empty()) can.events->event_functions(at.view(), at.t, values);
          return values;
        },
        [&](std::size_t i) { return "the function of the event " + system.shape().events[i]; },
        false);
  return found.empty() ? "" : found + " at " + at.where;
}

}  // namespace

Checks check_finite(const Subject& subject) {
  std::vector<std::string> faults;
  std::size_t states = 0;
  const auto look = [&](const System& system, const std::vector<Point>& points) {
    for (const Point& point : points) {
      ++states;
      const std::string found = not_finite_at(system, point);
      if (!found.empty()) faults.push_back(found);
    }
  };
  look(subject.system(), subject.points());
  if (subject.noisy() != nullptr) look(*subject.noisy()->system, subject.noisy_points());
  faults.insert(faults.end(), subject.faults().begin(), subject.faults().end());

  Check check{"finite", Check::Verdict::ok, static_cast<double>(faults.size()), 0};
  check.note = "faults of the flow, and of right-hand side, loss and events at " +
               std::to_string(states) + " states";
  if (!subject.how_far().empty()) check.note += "; " + subject.how_far();
  if (!faults.empty()) {
    check.verdict = Check::Verdict::fails;
    check.note += "; first: " + faults.front();
  }
  if (!subject.moves()) check.note += "; nothing else can be checked";
  return {check};
}

}  // namespace popflow::verification
