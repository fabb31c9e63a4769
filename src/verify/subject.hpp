#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"
#include "verify/progress.hpp"
#include "verify/verify.hpp"

namespace popflow::verification {

/// A state at which checks look.
struct Point {
  State x;
  Regime regime;
  double t = 0;
  std::string where;  ///< in words

  [[nodiscard]] StateView view() const { return {x, regime}; }
};

/// A system as a run of one mode would make it, with the configuration that it was made from.
struct Variant {
  RunConfig config;
  std::unique_ptr<System> system;
};

/// What is verified: the system along its flow, and as noise moves it.
class Subject {
 public:
  Subject(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
          const VerifyOptions& options, Progress& progress);

  [[nodiscard]] const System& system() const { return *flow_.system; }
  [[nodiscard]] const RunConfig& config() const { return flow_.config; }
  [[nodiscard]] const VerifyOptions& options() const { return options_; }
  [[nodiscard]] Workers& workers() const { return workers_; }
  /// For checks that take long; the steps of flows tell it by themselves that they go on.
  [[nodiscard]] Progress& progress() const { return progress_; }
  [[nodiscard]] std::size_t size() const { return system().shape().state_size(); }

  /// The time up to which flows are followed: the asked-for end, or as far as a bounded number of
  /// steps leads.
  [[nodiscard]] double end() const { return end_; }
  /// A short stretch, of some thirty steps.
  [[nodiscard]] double window() const { return window_; }
  /// The start and states along the flow.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  /// The system that a noisy run would move, and how the configuration would move it; null, with
  /// why_not_noisy(), where it refuses noise.
  [[nodiscard]] const Variant* noisy() const { return noisy_ ? &*noisy_ : nullptr; }
  [[nodiscard]] const std::string& why_not_noisy() const { return why_not_noisy_; }
  /// Runs with noise that the noisy system allows, a configuration each.
  [[nodiscard]] const std::vector<RunConfig>& noisy_runs() const { return noisy_runs_; }
  /// The start and where noise has moved it.
  [[nodiscard]] const std::vector<Point>& noisy_points() const { return noisy_points_; }

  /// The same configuration made again, with other options or threads.
  [[nodiscard]] Variant make(const RunConfig& config, Workers& workers) const;

  /// As the configuration says, or with its steps controlled to `rtol` (atol a hundredth).
  [[nodiscard]] FlowDriver::Options flow_options() const { return flow_options_; }
  [[nodiscard]] FlowDriver::Options tolerance(double rtol) const;
  /// Why no tolerance makes the flow's error small; empty: it does.
  [[nodiscard]] std::string no_tolerance() const;

 private:
  void follow_flow();
  void prepare_noise(const RunConfig& config);

  const Catalogue& catalogue_;
  Workers& workers_;
  VerifyOptions options_;
  Progress& progress_;
  Variant flow_;
  FlowDriver::Options flow_options_;
  double end_ = 0, window_ = 0;
  std::vector<Point> points_;
  std::optional<Variant> noisy_;
  std::string why_not_noisy_;
  std::vector<RunConfig> noisy_runs_;
  std::vector<Point> noisy_points_;
};

/// Where a driver is.
Point point_of(const Driver& driver, const std::string& where);

/// What counts as rounding, relative.
inline constexpr double kRounding = 100 * 2.2e-16;
/// The point with the last digits of its state changed, this way and that: what differs there is
/// known no better than by that much, as where terms of a right-hand side cancel.
Point shaken(const Point& point, std::uint64_t seed);

std::vector<double> rhs_at(const System& system, const Point& point);
std::vector<double> observables_at(const System& system, const Point& point);
bool same_bits(std::span<const double> a, std::span<const double> b);
/// |value|; infinite for NaN, so that no maximum passes it over.
double magnitude(double value);
double largest(std::span<const double> x);
/// The largest distance between states, block by block in parts of the block's size (its scale, or
/// its largest entry).
double relative_distance(const System& system, const State& a, const State& b);
/// "3.2e-07".
std::string digits(double value);

}  // namespace popflow::verification
