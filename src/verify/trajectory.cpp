// What integrators show: invariants, the exact solution, orders of convergence.

#include <algorithm>
#include <cmath>
#include <optional>

#include "options/methods.hpp"
#include "popflow/error.hpp"
#include "popflow/sde_driver.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

constexpr double kTight = 1e-11;
constexpr double kFloor = 1e-11;  // errors below are rounding's, and of no order

/// Where the flow leads up to `end`; nothing where it does not get there.
std::optional<Point> reached(const Subject& subject, const FlowDriver::Options& options,
                             double end) {
  FlowDriver driver(subject.system(), subject.workers(), options);
  if (driver.advance(end).kind != Outcome::Kind::reached) return std::nullopt;
  return point_of(driver, "the end");
}

/// The flow at fixed steps, this many up to `end`.
std::optional<Point> in_steps(const Subject& subject, const std::string& method, double end,
                              int steps) {
  FlowDriver::Options options = subject.flow_options();
  options.method = method;
  options.dt = end / steps;
  return reached(subject, options, end);
}

/// A solution that is exact but for rounding, up to `end`.
std::optional<Point> reference(const Subject& subject, double end) {
  FlowDriver::Options options = subject.tolerance(1e-13);
  if (options.method == "dopri5") options.method = "fehlberg78";
  return reached(subject, options, end);
}

/// The order at which errors vanish along halved steps, from the last pair above rounding; nothing
/// where all are rounding.
std::optional<double> order_of(const std::vector<double>& errors) {
  std::optional<double> order;
  for (std::size_t i = 1; i < errors.size(); ++i)
    if (errors[i] > kFloor && errors[i - 1] < 0.1) order = std::log2(errors[i - 1] / errors[i]);
  return order;
}

Check check_order(const std::string& name, double order_of_method, double accuracy,
                  const std::vector<double>& errors) {
  Check check;
  check.name = name;
  check.at_least = true;
  check.allowed = order_of_method - accuracy;
  check.note = "observed order, of errors " + digits(errors.front()) + " to " +
               digits(errors.back()) + " along halved steps";
  const std::optional<double> order = order_of(errors);
  if (order) {
    check.measured = *order;
    check.verdict = *order >= check.allowed ? Check::Verdict::ok : Check::Verdict::fails;
  } else if (errors.back() <= kFloor) {
    check.verdict = Check::Verdict::ok;
    check.note = "errors of " + digits(errors.back()) + ": rounding, of no order";
  } else {
    check.note = "no step is small enough to show an order";
  }
  return check;
}

/// The change of each invariant on the way to the end, relative to its size.
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

/// The order of a method with fixed steps, over the window or a beginning of it: where the flow is
/// fast at first, equal steps resolve no more than that.
template <class Exact>
std::optional<Check> fixed_order(const Subject& subject, const std::string& name,
                                 const std::string& method, Exact&& exact) {
  const double order = method == "euler" ? 1 : 4;
  std::optional<Check> check;
  for (double part = 1; part > 0.01; part *= 0.5) {
    const double end = part * subject.window();
    const std::optional<Point> there = exact(end);
    if (!there) continue;
    std::vector<double> errors;
    for (int steps = 32; steps <= (order == 1 ? 1024 : 256); steps *= 2)
      if (const auto found = in_steps(subject, method, end, steps))
        errors.push_back(relative_distance(subject.system(), found->x, there->x));
    if (errors.empty()) continue;
    check = check_order(name, order, order == 1 ? 0.2 : 0.5, errors);
    if (check->verdict == Check::Verdict::ok) break;
    // Over the shorter stretch all is rounding: nothing can be said beyond what was.
    if (part < 1 && errors.front() <= kFloor) break;
  }
  return check;
}

std::vector<Check> fixed_orders(const Subject& subject) {
  std::vector<Check> checks;
  for (const Method& method : methods()) {
    if (method.mode != "flow" || method.steps != Method::Steps::fixed) continue;
    const auto check = fixed_order(subject, "order of " + method.name, method.name,
                                   [&](double end) { return reference(subject, end); });
    if (check) checks.push_back(*check);
  }
  return checks;
}

std::vector<Check> adaptive_errors(const Subject& subject, const Point& exact, double end) {
  std::vector<Check> checks;
  for (const Method& method : methods()) {
    if (method.mode != "flow" || method.steps != Method::Steps::adaptive) continue;
    if (method.name == "rosenbrock4" &&
        (!subject.system().capabilities().jacobian || subject.size() > 400))
      continue;
    const std::string name = "error of " + method.name;
    std::vector<double> errors;
    for (const double rtol : {1e-5, 1e-7, 1e-9}) {
      FlowDriver::Options options = subject.tolerance(rtol);
      options.method = method.name;
      const auto there = reached(subject, options, end);
      errors.push_back(there ? relative_distance(subject.system(), there->x, exact.x) : INFINITY);
    }
    Worst worst;
    worst.add(errors.back(), 1e-6, "");
    checks.push_back(worst.check(name, "relative error at rtol 1e-9; " + digits(errors[0]) +
                                           " at 1e-5, " + digits(errors[1]) + " at 1e-7"));
    // A hundredth of the tolerance makes errors at least five times as small, down to rounding.
    if (errors[2] > 1e-8 && errors[2] > 0.2 * errors[1])
      checks.back().verdict = Check::Verdict::fails;
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
      checks.push_back(skipped(name, why.empty() ? "the steps at rtol 1e-11 are too many" : why));
      continue;
    }
    Worst worst;
    worst.add(tight[k], 1e-9, "");
    checks.push_back(worst.check(name, "relative drift to t = " + digits(subject.end()) +
                                           " at rtol 1e-11; " + digits(loose[k]) + " at 1e-9"));
    // The integrator's own: it goes with the tolerance.
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
  Checks checks = {worst.check(name, "relative error at rtol 1e-11, most at " + worst.where())};
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
    return {skipped(name, "the right-hand side jumps on the way, where methods have no order")};
  const std::optional<Point> exact = reference(subject, end);
  if (!exact) return {skipped(name, "there is no reference: rtol 1e-13 is not reached")};
  Checks checks = fixed_orders(subject);
  const Checks adaptive = adaptive_errors(subject, *exact, end);
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
    return {skipped(name, "the right-hand side is not smooth, where steps have no order")};
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
                    {.method = "fehlberg78", .rtol = 1e-13, .atol = 1e-15, .max_steps = 200'000});
    if (flow.advance(end).kind != Outcome::Kind::reached) continue;
    std::vector<double> first, second;
    for (const double steps : {32.0, 64.0, 128.0}) {
      const double eta = end / steps;
      const State descent = descend("gradient_descent", end, eta, eta, 1);
      first.push_back(relative_distance(system, descent, flow.state()));
      // Solved with steps whose own error falls faster than what is measured.
      if (steps < 128)
        second.push_back(relative_distance(
            system, descent,
            descend("euler_maruyama", end, eta, eta / (8 * steps * steps / 32), 2)));
    }
    checks = {check_order("gradient descent to the flow", 1, 0.2, first),
              check_order("gradient descent to the second modified equation", 2, 0.5, second)};
    if (checks[0].verdict == Check::Verdict::ok && checks[1].verdict == Check::Verdict::ok) break;
  }
  if (checks.empty()) return {skipped(name, "there is no reference: rtol 1e-13 is not reached")};
  return checks;
}

}  // namespace popflow::verification
