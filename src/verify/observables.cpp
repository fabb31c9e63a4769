#include <algorithm>
#include <cmath>
#include <mutex>

#include "verify/checks.hpp"
#include "verify/untouched.hpp"

namespace popflow::verification {

namespace {

/// Describes what is wrong with the numbers that `write` writes; empty if nothing.
template <class Write>
std::string fault(const std::vector<std::string>& names, Write&& write) {
  constexpr std::size_t beyond = 8;
  std::vector<double> values(names.size() + beyond, untouched());
  write(std::span(values).first(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_untouched(values[i])) return names[i] + " is not written";
    if (std::isinf(values[i])) return names[i] + " is infinite";
  }
  for (std::size_t i = names.size(); i < values.size(); ++i)
    if (!is_untouched(values[i])) return "more values are written than are declared";
  return "";
}

std::vector<std::string> names_of(const std::vector<ObservableInfo>& infos) {
  std::vector<std::string> names;
  names.reserve(infos.size());
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

/// Describes an observable with a floor that is negative by more than rounding; empty if there is
/// none.
std::string negative_observable(const System& system, const Point& at) {
  const std::vector<double> values = observables_at(system, at);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ObservableInfo& info = system.info().observables[i];
    if (info.floor > 0 && values[i] < -info.floor)
      return info.name + " is " + digits(values[i]) + ", but its floor of " + digits(info.floor) +
             " declares that it is never negative,";
  }
  return "";
}

/// Describes what is wrong with the pieces of a recorded field, which may come from several
/// threads; empty if nothing.
std::string fault_of_field(const System& system, const std::string& name, const Point& at) {
  const std::vector<FieldInfo>& infos = system.info().fields;
  const auto info = std::find_if(infos.begin(), infos.end(),
                                 [&](const FieldInfo& other) { return other.name == name; });
  if (info == infos.end()) return "the field " + name + " is not described";
  const std::size_t size = system.shape().size_of(info->dimensions);
  std::vector<char> times(size, 0);  // number of times each number was delivered, at most 2
  bool beyond = false;
  std::mutex mutex;
  system.field(name, at.view(), at.t, [&](std::size_t first, std::span<const double> values) {
    const std::lock_guard lock(mutex);
    const std::size_t begin = std::min(first, size);
    const std::size_t count = std::min(values.size(), size - begin);
    beyond = beyond || first > size || count < values.size();
    for (char& one : std::span(times).subspan(begin, count)) one = one == 0 ? 1 : 2;
  });
  const std::string has = " of its " + std::to_string(size) + " numbers";
  if (beyond) return "the field " + name + " delivers more than all" + has;
  const auto once = static_cast<std::size_t>(std::count(times.begin(), times.end(), 1));
  if (once < size) return "the field " + name + " delivers " + std::to_string(once) + has + " once";
  return "";
}

/// Describes what is wrong with the outcome word of an ended run.
std::string fault_of_outcome(const System& system, const Point& at) {
  const std::string word = system.capabilities().outcomes->outcome(at.view(), at.t);
  const std::vector<OutcomeInfo>& known = system.info().outcomes;
  const bool declared = word == "undecided" ||
                        std::any_of(known.begin(), known.end(),
                                    [&](const OutcomeInfo& info) { return info.word == word; });
  return declared ? "" : "the outcome \"" + word + "\" is not declared";
}

/// Describes what is wrong with the system's output for a state.
std::string fault_at(const System& system, const Point& at) {
  const Shape& shape = system.shape();
  const Capabilities can = system.capabilities();
  std::string found = fault(names_of(system.info().observables), [&](std::span<double> values) {
    system.observe(at.view(), at.t, values);
  });
  if (found.empty()) found = negative_observable(system, at);
  if (found.empty() && can.events && !shape.events.empty())
    found = fault(shape.events, [&](std::span<double> values) {
      can.events->event_functions(at.view(), at.t, values);
    });
  if (found.empty() && can.events && !shape.passages.empty()) {
    const std::vector<std::string> items(passage_items(system.info(), shape), "a passage");
    found = fault(items, [&](std::span<double> values) {
      can.events->passage_functions(at.view(), at.t, values);
    });
  }
  if (found.empty() && can.final_values && shape.finals) {
    std::vector<std::string> names;
    for (const FinalInfo& info : system.info().finals) names.push_back(info.name);
    found = fault(names, [&](std::span<double> values) {
      can.final_values->final_values(at.view(), at.t, values);
    });
  }
  for (const std::string& name : shape.fields)
    if (found.empty()) found = fault_of_field(system, name, at);
  if (found.empty() && can.outcomes) found = fault_of_outcome(system, at);
  return found.empty() ? "" : found + " at " + at.where;
}

}  // namespace

Checks check_observables(const Subject& subject) {
  Check check{"observables", Check::Verdict::ok, 0, 0};
  std::size_t states = 0;
  std::string faults;
  const auto look = [&](const System& system, const std::vector<Point>& points) {
    for (const Point& point : points) {
      ++states;
      const std::string found = fault_at(system, point);
      if (found.empty()) continue;
      check.measured += 1;
      if (faults.empty()) faults = found;
    }
  };
  look(subject.system(), subject.points());
  if (subject.noisy() != nullptr) look(*subject.noisy()->system, subject.noisy_points());
  check.note = "states (of " + std::to_string(states) +
               ") with a missing, superfluous, infinite or negative number";
  if (!faults.empty()) {
    check.verdict = Check::Verdict::fails;
    check.note += ": " + faults;
  }
  return {check};
}

}  // namespace popflow::verification
