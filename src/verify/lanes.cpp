// Comparison of the formulas for SIMD lanes with the System's own functions, at as many different
// states as there are lanes.

#include <Eigen/Core>
#include <cmath>
#include <functional>

#include "lanes/lane_rows.hpp"
#include "verify/checks.hpp"
#include "verify/untouched.hpp"

namespace popflow::verification {

namespace {

// Tolerance for sums that are rounded in a different order, and for exponentials by another
// formula. Where terms cancel, the effect of perturbed last digits of the state is allowed in
// addition.
constexpr double kAlike = 1e-12;

/// Returns the points, followed by states around them, one per lane.
std::vector<Point> side_by_side(const System& system, const std::vector<Point>& points,
                                std::uint64_t seed) {
  constexpr double kAround = 0.1;  // relative to an entry's size
  RandomStream random(seed, Purpose::check, 7);
  std::vector<Point> states;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Point& state = states.emplace_back(points[lane % points.size()]);
    if (lane < points.size()) continue;
    state.where = "a state near " + state.where;
    std::size_t i = 0;
    for (const StateBlock& block : system.shape().blocks)
      for (std::size_t k = 0; k < block.size; ++k, ++i)
        state.x[i] += kAround * std::max(block.scale, std::abs(state.x[i])) * random.normal();
  }
  return states;
}

/// Rows for a formula to write to, between guard rows that it must leave alone.
class GuardedRows {
 public:
  explicit GuardedRows(std::size_t rows) : rows_(rows), all_(rows + 2 * kGuards) {
    for (std::size_t row = 0; row < rows + 2 * kGuards; ++row)
      for (std::size_t lane = 0; lane < kLanes; ++lane) all_.at(row, lane) = untouched();
  }
  double* data() { return &all_.at(kGuards, 0); }
  [[nodiscard]] double at(std::size_t row, std::size_t lane) const {
    return all_.at(kGuards + row, lane);
  }
  /// Describes what is wrong with the rows; empty if nothing.
  [[nodiscard]] std::string fault() const {
    for (std::size_t row = 0; row < rows_ + 2 * kGuards; ++row) {
      const bool guard = row < kGuards || row >= kGuards + rows_;
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        if (is_untouched(all_.at(row, lane)) != guard)
          return guard ? "writes beyond its " + std::to_string(rows_) + " rows"
                       : "does not write row " + std::to_string(row - kGuards) + " of its " +
                             std::to_string(rows_);
    }
    return "";
  }

 private:
  static constexpr std::size_t kGuards = 4;
  std::size_t rows_;
  LaneRows all_;
};

/// Lanes of one System, filled with states.
class FilledLanes {
 public:
  FilledLanes(const System& system, const std::vector<Point>& points, std::uint64_t seed)
      : system_(system),
        formulas_(system.capabilities().in_lanes->lane_formulas()),
        seed_(seed),
        states_(side_by_side(system, points, seed)),
        of_(formulas_.sizes.parameters),
        x_(system.shape().state_size()) {}

  /// Compares all formulas. Returns what is wrong with their form; empty if nothing.
  std::string compare(Worst& worst) {
    const Shape& shape = system_.shape();
    const Capability<Events> watched = system_.capabilities().events;
    const std::size_t n = shape.state_size(), events = watched ? shape.events.size() : 0;
    const std::size_t passages = watched ? passage_items(system_.info(), shape) : 0;
    if (std::string wrong = fill(); !wrong.empty()) return wrong;
    if (formulas_.flow == nullptr) return "the formula of the flow is missing";
    if (formulas_.events == nullptr && events > 0) return "the formula of the events is missing";
    if (formulas_.passages == nullptr && passages > 0)
      return "the formula of the passages is missing";

    const Alone flow = [&](const Point& at, std::span<double> values) {
      system_.rhs(at.view(), at.t, values);
    };
    std::string wrong = compare(formulas_.flow, n, "the flow", flow, of_all, worst);
    if (wrong.empty() && events > 0) {
      const std::vector<double> prominence = prominences();
      const bool heights = largest(prominence) > 0;
      const Alone alone = [&](const Point& at, std::span<double> values) {
        watched->event_functions(at.view(), at.t, values.first(events));
        for (std::size_t i = events; i < values.size(); ++i)
          values[i] = watched->event_height(i - events, at.view(), at.t);
      };
      // Heights need only be accurate enough to tell whether extrema exceed them.
      const Size size = [&](std::span<const double> values, std::size_t row) {
        const double own = of_itself(values, row);
        return row < events ? own : std::max(own, prominence[row - events]);
      };
      wrong = compare(formulas_.events, heights ? 2 * events : events,
                      heights ? "the events and their heights" : "the events", alone, size, worst);
    }
    if (wrong.empty() && passages > 0) {
      const Alone alone = [&](const Point& at, std::span<double> values) {
        watched->passage_functions(at.view(), at.t, values);
      };
      wrong = compare(formulas_.passages, passages, "the passages", alone, of_itself, worst);
    }
    if (wrong.empty() && formulas_.flow_and_covariance != nullptr)
      wrong = compare_noise(flow, worst);
    return wrong;
  }

 private:
  using Alone = std::function<void(const Point& at, std::span<double> values)>;
  /// Reference size to which the rounding of a row is relative.
  using Size = std::function<double(std::span<const double> values, std::size_t row)>;
  static double of_itself(std::span<const double> values, std::size_t row) {
    return std::abs(values[row]);
  }
  static double of_all(std::span<const double> values, std::size_t /*row*/) {
    return largest(values);
  }

  std::string fill() {
    const std::size_t number = formulas_.sizes.parameters;
    if (formulas_.sizes.entries != x_size())
      return "the formulas have " + std::to_string(formulas_.sizes.entries) +
             " entries, but the state has " + std::to_string(x_size());
    constexpr std::size_t beyond = 8;
    std::vector<double> parameters(number + beyond, untouched());
    system_.capabilities().in_lanes->lane_parameters(std::span(parameters).first(number));
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (is_untouched(parameters[i]) != (i >= number))
        return i < number ? "parameter " + std::to_string(i) + " is not written"
                          : "more than " + std::to_string(number) + " parameters are written";
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      of_.write(lane, std::span(parameters).first(number));
      x_.write(lane, states_[lane].x);
    }
    return "";
  }

  [[nodiscard]] std::size_t x_size() const { return system_.shape().state_size(); }

  /// Returns the prominence of each event; 0 if the event is not an extremum.
  [[nodiscard]] std::vector<double> prominences() const {
    std::vector<double> found;
    for (const std::string& name : system_.shape().events)
      for (const EventInfo& event : system_.info().events)
        if (event.name == name) found.push_back(event.prominence);
    return found;
  }

  std::string compare(LaneFormula formula, std::size_t rows, const std::string& what,
                      const Alone& alone, const Size& size, Worst& worst) {
    GuardedRows written(rows);
    formula(formulas_.sizes, of_.data(), x_.data(), written.data());
    return compare(written, rows, what, alone, size, worst);
  }

  std::string compare(const GuardedRows& written, std::size_t rows, const std::string& what,
                      const Alone& alone, const Size& size, Worst& worst) {
    if (const std::string fault = written.fault(); !fault.empty())
      return "the formula of " + what + " " + fault;
    constexpr std::uint64_t kTimes = 4;
    std::vector<double> expected(rows), other(rows), digits(rows);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Point& state = states_[lane];
      alone(state, expected);
      std::fill(digits.begin(), digits.end(), 0.0);
      for (std::uint64_t k = 0; k < kTimes; ++k) {
        alone(shaken(state, seed_ + k), other);
        for (std::size_t i = 0; i < rows; ++i)
          digits[i] = std::fmax(digits[i], std::abs(other[i] - expected[i]));
      }
      for (std::size_t i = 0; i < rows; ++i) {
        const double there = written.at(i, lane), here = expected[i];
        if (there == here || (std::isnan(there) && std::isnan(here))) continue;
        const double unit = size(expected, i);
        worst.add(there - here, kAlike * (std::isfinite(unit) ? unit : 1) + digits[i],
                  what + ", row " + std::to_string(i) + ", at " + state.where);
      }
    }
    return "";
  }

  std::string compare_noise(const Alone& flow, Worst& worst) {
    const std::size_t n = x_size();
    const Capability<Covariance> stated = system_.capabilities().covariance;
    if (!stated) return "there is a formula of a covariance, but the system has none";
    GuardedRows dxdt(n), covariance(n * (n + 1) / 2);
    formulas_.flow_and_covariance(of_.data(), x_.data(), dxdt.data(), covariance.data());
    const Alone triangle = [&](const Point& at, std::span<double> values) {
      const auto length = static_cast<Eigen::Index>(n);
      Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(length, length);
      stated->covariance(at.view(), at.t, whole);
      std::size_t row = 0;
      for (Eigen::Index i = 0; i < length; ++i)
        for (Eigen::Index j = 0; j <= i; ++j) values[row++] = whole(i, j);
    };
    const std::string wrong =
        compare(dxdt, n, "the flow beside the covariance", flow, of_all, worst);
    if (!wrong.empty()) return wrong;
    return compare(covariance, n * (n + 1) / 2, "the covariance", triangle, of_all, worst);
  }

  const System& system_;
  const LaneFormulas& formulas_;
  std::uint64_t seed_;
  std::vector<Point> states_;
  LaneRows of_, x_;
};

}  // namespace

Checks check_lanes(const Subject& subject) {
  const std::string name = "lanes";
  const Capability<InLanes> flow = subject.system().capabilities().in_lanes;
  const Variant* noisy = subject.noisy();
  const bool noisy_too =
      noisy != nullptr && static_cast<bool>(noisy->system->capabilities().in_lanes);
  if (!flow && !noisy_too) {
    if (flow.why_not().empty()) return {};
    return {skipped(name, flow.why_not())};
  }
  Worst worst;
  std::string wrong;
  const auto look = [&](const System& system, const std::vector<Point>& points) {
    if (wrong.empty()) wrong = FilledLanes(system, points, subject.options().seed).compare(worst);
  };
  if (flow) look(subject.system(), subject.points());
  if (noisy_too && !subject.noisy_points().empty()) look(*noisy->system, subject.noisy_points());
  if (!wrong.empty()) {
    Check check = skipped(name, wrong);
    check.verdict = Check::Verdict::fails;
    return {check};
  }
  worst.add(0, kAlike, "");
  const std::string most = worst.where().empty() ? "" : "; largest in " + worst.where();
  return {worst.check(name, "difference between formulas of " + std::to_string(kLanes) +
                                " trajectories side by side and those of single trajectories" +
                                most)};
}

}  // namespace popflow::verification
