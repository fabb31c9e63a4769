// Comparison of the flow in different coordinates: without reduction, and those in which noise
// acts.

#include <algorithm>
#include <cmath>
#include <optional>

#include "options/methods.hpp"
#include "popflow/error.hpp"
#include "steppers/flow_methods.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

constexpr std::size_t kLargest = 200'000;
constexpr std::size_t kThoroughLargest = 5'000'000;

/// Returns the times at which flows are compared: early ones, which any flow can reach, and the
/// times of the points.
std::vector<double> times_of(const Subject& subject) {
  std::vector<double> times = {0.2 * subject.window(), subject.window()};
  for (const Point& point : subject.points()) times.push_back(point.t);
  std::sort(times.begin(), times.end());
  return times;
}

/// Returns the observables of a flow at these times; fewer if a bounded number of steps does not
/// reach all of them.
std::vector<std::vector<double>> along(const Subject& subject, const System& system,
                                       const std::vector<double>& times, double rtol) {
  FlowDriver::Options options = subject.flow_options();
  if (subject.no_tolerance().empty()) {
    options = subject.tolerance(rtol);
    if (!system.capabilities().jacobian && options.method->needs_jacobian)
      options.method = default_method("flow");
  }
  const double size = static_cast<double>(system.shape().state_size() + 100);
  options.max_steps = static_cast<std::int64_t>(
      std::clamp((subject.options().thorough ? 1e9 : 2e7) / size, 600.0, 200'000.0));
  FlowDriver driver(system, subject.workers(), options);
  std::vector<std::vector<double>> values;
  for (const double time : times) {
    if (driver.advance(time).kind != Outcome::Kind::reached) break;
    values.push_back(observables_at(system, point_of(driver, "")));
  }
  return values;
}

/// Returns the largest relative difference of an observable, and the number of times reached.
std::pair<Worst, std::size_t> difference(const Subject& subject, const System& other, double rtol) {
  const std::vector<double> at = times_of(subject);
  const auto here = along(subject, subject.system(), at, rtol),
             there = along(subject, other, at, rtol);
  const std::size_t times = std::min(here.size(), there.size());
  Worst worst;
  const std::vector<ObservableInfo>& infos = subject.system().info().observables;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    double size = 0;
    for (std::size_t k = 0; k < times; ++k)
      for (const double value : {here[k][i], there[k][i]})
        if (!std::isnan(value)) size = std::max(size, std::abs(value));
    for (std::size_t k = 0; k < times; ++k) {
      // Observables that only one of the two systems has are not compared, nor are differences at
      // rounding level.
      if (std::isnan(here[k][i]) || std::isnan(there[k][i])) continue;
      worst.add(std::abs(here[k][i] - there[k][i]) / std::max(size, 1e-3), 1e-6,
                infos[i].name + " at t = " + digits(at[k]));
    }
  }
  return {worst, times};
}

Check compare(const Subject& subject, const System& other, const std::string& name,
              const std::string& what) {
  const auto [worst, times] = difference(subject, other, 1e-11);
  if (times < 2) return skipped(name, what + " needs too many steps");
  if (!worst.any()) return skipped(name, "the two systems have no observable in common");
  const double end = times_of(subject)[times - 1];
  const std::string note = "relative difference of an observable from " + what +
                           " up to t = " + digits(end) + "; largest: " + worst.where();
  Check check = worst.check(name, note);
  if (check.verdict == Check::Verdict::ok || !subject.no_tolerance().empty()) return check;
  // An observable may magnify the integrator's error; that difference shrinks with the tolerance.
  const Check loose = difference(subject, other, 1e-9).first.check(name, "");
  check.note += ", at rtol 1e-11; " + digits(loose.measured) + " at 1e-9";
  if (check.measured <= 0.1 * loose.measured) check.verdict = Check::Verdict::ok;
  return check;
}

}  // namespace

Checks check_reduction(const Subject& subject) {
  const SystemInfo& info = subject.system().info();
  const std::string name = "reduction";
  if (info.unreduced.empty()) return {};
  RunConfig config = subject.config();
  bool reduced = false;
  std::string words;
  for (const OptionSetting& setting : info.unreduced) {
    reduced = reduced || config.own.text(setting.option) != setting.word;
    config.own.set(setting.option, setting.word, Origin::command_line);
    words += (words.empty() ? "--" : " --") + setting.option + " " + setting.word;
  }
  if (!reduced) return {};
  if (!subject.system().shape().approximation.empty())
    return {skipped(name, subject.system().shape().approximation)};
  std::optional<Variant> full;
  try {
    full = subject.make(config, subject.workers());
  } catch (const UsageError& error) {
    return {skipped(name, error.what())};
  } catch (const InputError& error) {  // a recorded start that exists only in these coordinates
    return {skipped(name, error.what())};
  }
  const std::size_t n = full->system->shape().state_size();
  if (n > (subject.options().thorough ? kThoroughLargest : kLargest))
    return {skipped(name, words + " has " + std::to_string(n) + " numbers, too many to integrate" +
                              (subject.options().thorough ? "" : " without --thorough"))};
  return {compare(subject, *full->system, name, words)};
}

Checks check_noisy_coordinates(const Subject& subject) {
  const std::string name = "noisy coordinates";
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) {
    if (subject.why_not_noisy().empty()) return {};
    return {skipped(name, subject.why_not_noisy())};
  }
  const System& system = *noisy->system;
  if (!system.shape().approximation.empty()) return {skipped(name, system.shape().approximation)};
  if (subject.system().capabilities().switching && !system.capabilities().switching)
    return {skipped(name, "the right-hand side jumps, and steps end at the jumps in flows only")};
  const Capability<Proximal> here = subject.system().capabilities().proximal,
                             there = system.capabilities().proximal;
  if (there && (!here || here->estimates_error() != there->estimates_error()))
    return {
        skipped(name, there->proximal_term() +
                          " is exact in a flow, or in proximal steps with an error estimate; with "
                          "noise, its steps are those of the noise")};
  if (system.shape().state_size() > (subject.options().thorough ? kThoroughLargest : kLargest))
    return {skipped(name, "the state is too large to integrate twice without --thorough")};
  return {compare(subject, system, name, "the system for noisy runs, without noise,")};
}

}  // namespace popflow::verification
