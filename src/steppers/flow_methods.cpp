#include "steppers/flow_methods.hpp"

#include <array>
#include <string>
#include <vector>

#include "popflow/error.hpp"
#include "steppers/embedded_pair.hpp"
#include "steppers/lane_pair.hpp"
#include "steppers/odeint_pairs.hpp"
#include "steppers/verner8_tableau.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr double kOfDriver = 2;  // number of states: x and a trial of the next one

// clang-format off
constexpr std::array kMethods = {
    FlowMethod{.name = "dopri5", .order = 5, .has_blocks = true,
               .states = [](double) { return kOfDriver + 8; },  // k1..k7 and a trial point
               .dense_output_states = 3,                        // slopes at two points, a point
               .make = make_pair_stepper<Dopri5>, .make_lanes = make_lane_pair<Dopri5>,
               .make_dense_output = Dopri5::dense_output},
    FlowMethod{.name = "fehlberg78", .order = 8,
               .states = [](double) { return kOfDriver + 14; },  // k1..k13 and a trial point
               .dense_output_states = 7,  // slopes at the end and at five points, a point
               .make = make_pair_stepper<Fehlberg78>, .make_lanes = make_lane_pair<Fehlberg78>,
               .make_dense_output = Fehlberg78::dense_output},
    FlowMethod{.name = "verner8", .order = 8,
               .states = [](double) { return kOfDriver + 14; },  // k1..k13 and a trial point
               .dense_output_states = 7,  // same as fehlberg78
               .make = make_pair_stepper<Verner8>, .make_lanes = make_lane_pair<Verner8>,
               .make_dense_output = Verner8::dense_output},
    FlowMethod{.name = "bulirsch_stoer",
               .states = [](double) { return kOfDriver + 18; },  // extrapolation table, copies
               .dense_output_states = 4,
               .make = make_bulirsch_stoer},
    FlowMethod{.name = "rosenbrock4", .order = 4, .needs_jacobian = true,
               .states = [](double size) { return kOfDriver + 14 + 2 * size; },  // Jacobian, LU
               .make = make_rosenbrock4},
    FlowMethod{.name = "rk4", .steps = StepRule::fixed, .order = 4,
               .states = [](double) { return kOfDriver + 5; },
               .dense_output_states = 5,  // slopes at the ends and at two points, a point
               .make = make_rk4},
    FlowMethod{.name = "euler", .steps = StepRule::fixed, .order = 1,
               .states = [](double) { return kOfDriver + 1; },
               .dense_output_states = 1,
               .make = make_euler},
};
// clang-format on

}  // namespace

std::span<const FlowMethod> flow_methods() { return kMethods; }

const FlowMethod* find_flow_method(std::string_view name) {
  for (const FlowMethod& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

const FlowMethod& flow_method(std::string_view name) {
  if (const FlowMethod* method = find_flow_method(name)) return *method;
  std::vector<std::string> names;
  names.reserve(kMethods.size());
  for (const FlowMethod& method : kMethods) names.emplace_back(method.name);
  throw UsageError("--method is " + std::string(name) + "; it must be " + text::one_of(names));
}

const FlowMethod& most_accurate_flow_method() {
  const FlowMethod* best = &kMethods.front();
  for (const FlowMethod& method : kMethods)
    if (method.steps == StepRule::adaptive && !method.needs_jacobian && method.order > best->order)
      best = &method;
  return *best;
}

}  // namespace popflow
