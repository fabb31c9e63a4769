// Checks of integrators: invariants, the exact solution, orders of convergence.

#include <algorithm>
#include <cmath>
#include <optional>

#include "options/methods.hpp"
#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "steppers/flow_methods.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

constexpr double kTight = 1e-11;
constexpr double kFloor = 1e-11;  // smaller errors are rounding and show no order

/// Returns the point that the flow reaches at `end`; empty if the flow does not get there.
std::optional<Point> reached(const Subject& subject, const FlowDriver::Options& options,
                             double end) {
  FlowDriver driver(subject.system(), subject.workers(), options);
  if (driver.advance(end).kind != Outcome::Kind::reached) return std::nullopt;
  return point_of(driver, "the end");
}

/// Returns the end of the flow after this many fixed steps.
std::optional<Point> in_steps(const Subject& subject, const std::string& method, double end,
                              int steps) {
  FlowDriver::Options options = subject.flow_options();
  options.method = method;
  options.dt = end / steps;
  return reached(subject, options, end);
}

/// Returns a reference solution at `end`, exact up to rounding.
std::optional<Point> reference(const Subject& subject, double end) {
  FlowDriver::Options options = subject.tolerance(1e-13);
  if (options.method->name == default_method("flow")) options.method = most_accurate_flow_method();
  return reached(subject, options, end);
}

/// Returns the observed orders between successive halvings of the step, from errors above rounding.
std::vector<double> orders_of(const std::vector<double>& errors) {
  std::vector<double> orders;
  for (std::size_t i = 1; i < errors.size(); ++i)
    if (errors[i] > kFloor && errors[i - 1] < 0.1)
      orders.push_back(std::log2(errors[i - 1] / errors[i]));
  return orders;
}

/// Largest change of an observed order that counts as stable. While steps are too long for the
/// flow, or errors are near rounding, the order changes from pair to pair and is no evidence
/// against the method.
constexpr double kStays = 0.3;

Check check_order(const std::string& name, double order_of_method, double accuracy,
                  const std::vector<double>& errors) {
  Check check;
  check.name = name;
  check.at_least = true;
  check.allowed = order_of_method - accuracy;
  check.note = "observed order, from errors of " + digits(errors.front()) + " to " +
               digits(errors.back()) + " with halved steps";
  const std::vector<double> orders = orders_of(errors);
  const std::size_t n = orders.size();
  const bool high = n > 0 && orders.back() >= check.allowed;
  // Errors this small may come from the reference.
  const bool stays =
      n > 1 && errors.back() > 10 * kFloor && std::abs(orders[n - 1] - orders[n - 2]) <= kStays;
  if (high || stays) {
    check.measured = orders.back();
    check.verdict = high ? Check::Verdict::ok : Check::Verdict::fails;
  } else if (errors.back() <= kFloor) {
    check.verdict = Check::Verdict::ok;
    check.note = "errors of " + digits(errors.back()) + " are rounding and show no order";
  } else {
    check.note = "no step is small enough to show an order: errors of " + digits(errors.front()) +
                 " to " + digits(errors.back()) + " with halved steps";
  }
  return check;
}

/// Returns the change of each invariant from start to end, relative to its size.
std::vector<double> drifts(const Subject& subject, double rtol) {
  const System& system = subject.system();
  const SystemInfo& info = system.info();
  FlowDriver driver(system, subject.workers(), subject.tolerance(rtol));
  const std::vector<double> before = observables_at(system, point_of(driver, ""));
  std::vector<double> worst(system.shape().invariants.size(), 0.0);
  for (const double part : {0.1, 0.5, 1.0}) {
    if (driver.advance(part * subject.end()).kind != Outcome::Kind::reached) return {};
    const std::vector<double> now = observables_at(system, point_of(driver, ""));
    for (std::size_t k = 0; k < worst.size(); ++k) {
      const std::string& name = system.shape().invariants[k];
      for (const InvariantInfo& invariant : info.invariants) {
        if (invariant.observable != name) continue;
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (info.observables[i].name != name) continue;
          const double origin = invariant.form == InvariantInfo::Form::zero ? 0 : before[i];
          worst[k] =
              std::max(worst[k], magnitude(now[i] - origin) / std::max(1.0, std::abs(origin)));
        }
      }
    }
  }
  return worst;
}

bool changes_regime(const Subject& subject, double end) {
  FlowDriver driver(subject.system(), subject.workers(), subject.flow_options());
  const Regime before = driver.regime();
  driver.advance(end);
  return !same_bits(before, driver.regime());
}

/// Returns the ends of the time intervals over which fixed steps may show an order: the window and
/// initial parts of the window. If the flow is much faster at first, initial parts of its first
/// steps follow.
std::vector<double> stretches(const Subject& subject) {
  constexpr int kFirst = 10;
  constexpr double kShortest = 0.01;  // relative to the window
  std::vector<double> ends;
  for (double part = 1; part > kShortest; part *= 0.5) ends.push_back(part * subject.window());
  FlowDriver::Options options = subject.tolerance(1e-8);
  options.max_steps = kFirst;
  FlowDriver driver(subject.system(), subject.workers(), options);
  driver.advance(subject.window());
  for (const double part : {1.0, 0.1, 0.01})
    if (const double end = part * driver.time(); end > 0 && end < ends.back()) ends.push_back(end);
  return ends;
}

/// Checks the order of a method with fixed steps, over the longest interval that shows one. Also
/// checks an eighth of this interval, because a flow that comes to rest forgets its errors. If no
/// interval shows an order, returns the result of the shortest one.
template <class Exact>
std::optional<Check> fixed_order(const Subject& subject, const std::string& name,
                                 const std::string& method, Exact&& exact) {
  const double order = flow_method(method).order;
  const auto errors_to = [&](double end) {
    std::vector<double> errors;
    const std::optional<Point> there = exact(end);
    if (!there) return errors;
    for (int steps = 32; steps <= (order == 1 ? 1024 : 256); steps *= 2)
      if (const auto found = in_steps(subject, method, end, steps))
        errors.push_back(relative_distance(subject.system(), found->x, there->x));
    return errors;
  };
  const auto look = [&](const std::vector<double>& errors) {
    return check_order(name, order, order == 1 ? 0.2 : 0.5, errors);
  };
  std::optional<Check> check;
  for (const double end : stretches(subject)) {
    const std::vector<double> errors = errors_to(end);
    if (errors.empty()) continue;
    // Over a shorter interval all errors would be rounding, so this result stands.
    if (check && errors.front() <= kFloor) break;
    const Check here = look(errors);
    if (here.verdict == Check::Verdict::ok) {
      const std::vector<double> sooner = errors_to(end / 8);
      const Check before = sooner.empty() ? here : look(sooner);
      return before.verdict == Check::Verdict::fails ? before : here;
    }
    if (!check || here.verdict == Check::Verdict::fails) check = here;
  }
  return check;
}

std::vector<Check> fixed_orders(const Subject& subject) {
  std::vector<Check> checks;
  for (const FlowMethod& method : flow_methods()) {
    if (method.steps != StepRule::fixed) continue;
    const std::string name(method.name);
    subject.progress().part(0.25 * static_cast<double>(checks.size()), name);
    const auto check = fixed_order(subject, "order of " + name, name,
                                   [&](double end) { return reference(subject, end); });
    if (check) checks.push_back(*check);
  }
  return checks;
}

/// Returns the end of the flow for measuring a method's errors. A step with a Jacobian factorises
/// it, so a large system is integrated over fewer steps.
double end_for(const Subject& subject, const FlowMethod& method) {
  constexpr double kAtEase = 100;  // number of entries
  const double size = static_cast<double>(subject.size());
  if (!method.needs_jacobian || size <= kAtEase) return subject.window();
  return std::pow(kAtEase / size, 3) * subject.window();
}

/// Returns whether the error shrinks: a hundredth of the tolerance must reduce it at least
/// fivefold, down to rounding.
bool error_shrinks(double before, double after) { return after <= 1e-8 || after <= 0.2 * before; }

std::vector<Check> adaptive_errors(const Subject& subject) {
  std::vector<Check> checks;
  for (const FlowMethod& method : flow_methods()) {
    if (method.steps != StepRule::adaptive) continue;
    if (method.needs_jacobian &&
        (!subject.system().capabilities().jacobian || subject.size() > 400))
      continue;
    const std::string method_name(method.name);
    subject.progress().part(0.5 + 0.1 * static_cast<double>(checks.size()), method_name);
    const std::string name = "error of " + method_name;
    const double end = end_for(subject, method);
    const std::optional<Point> exact = reference(subject, end);
    if (!exact) {
      checks.push_back(skipped(name, "no reference solution: rtol 1e-13 cannot be reached"));
      continue;
    }
    const auto error_at = [&](double rtol) {
      FlowDriver::Options options = subject.tolerance(rtol);
      options.method = method_name;
      const auto there = reached(subject, options, end);
      return there ? relative_distance(subject.system(), there->x, exact->x) : INFINITY;
    };
    const double loose = error_at(1e-5), middle = error_at(1e-7), tight = error_at(1e-9);
    Worst worst;
    worst.add(tight, 1e-6, "");
    Check check = worst.check(name, "relative error at rtol 1e-9; " + digits(loose) + " at 1e-5, " +
                                        digits(middle) + " at 1e-7");
    if (!error_shrinks(middle, tight)) {
      // The earlier error may have been small by chance. The error at another hundredth of the
      // tolerance decides whether the error shrinks.
      const double tightest = error_at(1e-11);
      check.note += ", " + digits(tightest) + " at 1e-11";
      if (!error_shrinks(tight, tightest)) check.verdict = Check::Verdict::fails;
    }
    checks.push_back(check);
  }
  return checks;
}

}  // namespace

Checks check_invariants(const Subject& subject) {
  const std::vector<std::string>& names = subject.system().shape().invariants;
  if (names.empty()) return {};
  Checks checks;
  const std::string why = subject.no_tolerance();
  std::vector<double> tight, loose;
  if (why.empty()) {
    loose = drifts(subject, 100 * kTight);
    tight = drifts(subject, kTight);
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string name = "invariant " + names[k];
    if (!why.empty() || tight.empty() || loose.empty()) {
      checks.push_back(skipped(name, why.empty() ? "rtol 1e-11 needs too many steps" : why));
      continue;
    }
    Worst worst;
    worst.add(tight[k], 1e-9, "");
    checks.push_back(worst.check(name, "relative drift to t = " + digits(subject.end()) +
                                           " at rtol 1e-11; " + digits(loose[k]) + " at 1e-9"));
    // An error that shrinks with the tolerance is the integrator's own, not the system's.
    if (tight[k] <= 0.1 * loose[k]) checks.back().verdict = Check::Verdict::ok;
  }
  return checks;
}

Checks check_closed_form(const Subject& subject) {
  const std::string name = "closed form";
  const Capability<ClosedForm> closed_form = subject.system().capabilities().closed_form;
  if (!closed_form) {
    if (closed_form.why_not().empty()) return {};
    return {skipped(name, closed_form.why_not())};
  }
  if (const std::string why = subject.no_tolerance(); !why.empty()) return {skipped(name, why)};
  Worst worst;
  State exact(subject.size());
  FlowDriver driver(subject.system(), subject.workers(), subject.tolerance(kTight));
  for (const double part : {0.0, 0.1, 0.3, 1.0}) {
    const double t = part * subject.end();
    if (driver.advance(t).kind != Outcome::Kind::reached) break;
    closed_form->closed_form(t, exact);
    worst.add(relative_distance(subject.system(), driver.state(), exact), part == 0 ? 1e-12 : 1e-8,
              "t = " + digits(t));
  }
  Checks checks = {worst.check(name, "relative error at rtol 1e-11, largest at " + worst.where())};
  const auto at = [&](double end) -> std::optional<Point> {
    closed_form->closed_form(end, exact);
    return Point{exact, {}, end, ""};
  };
  if (const auto order = fixed_order(subject, "closed form, order of rk4", "rk4", at))
    checks.push_back(*order);
  return checks;
}

Checks check_methods(const Subject& subject) {
  const std::string name = "orders of methods";
  if (const std::string why = subject.no_tolerance(); !why.empty()) return {skipped(name, why)};
  const double end = subject.window();
  if (changes_regime(subject, end))
    return {skipped(name, "the right-hand side jumps on the way, so methods have no order")};
  if (!reference(subject, end))
    return {skipped(name, "no reference solution: rtol 1e-13 cannot be reached")};
  Checks checks = fixed_orders(subject);
  const Checks adaptive = adaptive_errors(subject);
  checks.insert(checks.end(), adaptive.begin(), adaptive.end());
  return checks;
}

Checks check_descent(const Subject& subject) {
  const std::string name = "order of gradient descent";
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) return {};
  const System& system = *noisy->system;
  const Capabilities can = system.capabilities();
  if (can.proximal || can.switching || subject.system().capabilities().switching)
    return {skipped(name, "the right-hand side is not smooth, so steps have no order")};
  const auto descend = [&](const std::string& method, double end, double eta, double dt,
                           std::int64_t order) {
    SdeDriver driver(system, subject.workers(),
                     {.method = method,
                      .learning_rate = eta,
                      .dt = dt,
                      .noise = "isotropic",
                      .noise_scale = 0,
                      .modified_equation = order});
    driver.advance(end);
    return driver.state();
  };
  Checks checks;
  for (const double part : {1.0, 0.25, 1.0 / 16, 1.0 / 64}) {
    const double end = part * subject.window();
    FlowDriver flow(system, subject.workers(),
                    {.method = most_accurate_flow_method(),
                     .rtol = 1e-13,
                     .atol = 1e-15,
                     .max_steps = 200'000});
    if (flow.advance(end).kind != Outcome::Kind::reached) continue;
    std::vector<double> first, second;
    for (const double steps : {32.0, 64.0, 128.0}) {
      const double eta = end / steps;
      const State descent = descend("gradient_descent", end, eta, eta, 1);
      first.push_back(relative_distance(system, descent, flow.state()));
      // The reference steps have an error that falls faster than the measured one.
      if (steps < 128)
        second.push_back(relative_distance(
            system, descent,
            descend("euler_maruyama", end, eta, eta / (8 * steps * steps / 32), 2)));
    }
    checks = {check_order("gradient descent to the flow", 1, 0.2, first),
              check_order("gradient descent to the second modified equation", 2, 0.5, second)};
    if (checks[0].verdict == Check::Verdict::ok && checks[1].verdict == Check::Verdict::ok) break;
  }
  if (checks.empty()) return {skipped(name, "no reference solution: rtol 1e-13 cannot be reached")};
  return checks;
}

}  // namespace popflow::verification
