#include <cmath>

#include "verify/checks.hpp"
#include "verify/untouched.hpp"

namespace popflow::verification {

namespace {

/// What is wrong with the numbers that `write` writes; empty: nothing.
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
    if (!is_untouched(values[i])) return "more is written than is declared";
  return "";
}

std::vector<std::string> names_of(const std::vector<ObservableInfo>& infos) {
  std::vector<std::string> names;
  names.reserve(infos.size());
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

/// What is wrong with what the system tells of a state.
std::string fault_at(const System& system, const Point& at) {
  const Shape& shape = system.shape();
  const Capabilities can = system.capabilities();
  std::string found = fault(names_of(system.info().observables), [&](std::span<double> values) {
    system.observe(at.view(), at.t, values);
  });
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
  check.note = "states of " + std::to_string(states) + " with a number missing or infinite";
  if (!faults.empty()) {
    check.verdict = Check::Verdict::fails;
    check.note += ": " + faults;
  }
  return {check};
}

}  // namespace popflow::verification
