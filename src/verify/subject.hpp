#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "options/run_config.hpp"
#include "plan/mode_plan.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/error.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/system.hpp"
#include "popflow/workers.hpp"
#include "verify/progress.hpp"
#include "verify/verify.hpp"

namespace popflow::verification {

/// State at which checks are made.
struct Point {
  State x;
  Regime regime;
  double t = 0;
  std::string where;  ///< description of the place

  [[nodiscard]] StateView view() const { return {x, regime}; }
};

/// System as created for a run of one mode, with its configuration.
struct Variant {
  RunConfig config;
  std::unique_ptr<System> system;
};

/// Returns the message of an exception thrown by `call`; empty if there is none. Rethrows failures
/// that are not the system's fault: lack of memory, or a file that cannot be written.
template <class Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const OutputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return *error.what() == '\0' ? "an exception without words" : error.what();
  }
  return "";
}

/// Run with noise, of about twenty steps.
struct NoisyRun {
  RunConfig config;
  ModePlan mode;
  double end;

  /// Returns "sde with batch noise".
  [[nodiscard]] std::string name() const;
};

/// System under verification: along its flow, and as moved by noise.
class Subject {
 public:
  Subject(const RunConfig& config, const Catalogue& catalogue, Workers& workers,
          const VerifyOptions& options, Progress& progress);

  [[nodiscard]] const System& system() const { return *flow_.system; }
  [[nodiscard]] const RunConfig& config() const { return flow_.config; }
  [[nodiscard]] const VerifyOptions& options() const { return options_; }
  [[nodiscard]] Workers& workers() const { return workers_; }
  /// Progress, for checks that take long. Integrations of the flow report by themselves that they
  /// are running.
  [[nodiscard]] Progress& progress() const { return progress_; }
  [[nodiscard]] std::size_t size() const { return system().shape().state_size(); }

  /// End of the flows: the requested end, or the time that a bounded number of steps reaches.
  [[nodiscard]] double end() const { return end_; }
  /// Short time of about thirty steps.
  [[nodiscard]] double window() const { return window_; }
  /// Faults found along the flow and with noise: an exception, or an end at a non-finite state,
  /// with its place.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  /// Describes how far the flow was followed.
  [[nodiscard]] const std::string& how_far() const { return how_far_; }
  /// Returns whether all checks would take longer than the time they may take. Then the flow is
  /// followed for a few steps only.
  [[nodiscard]] bool is_brief() const { return brief_; }
  /// Returns whether the flow leaves its start. If not, nothing can be checked.
  [[nodiscard]] bool moves() const { return moves_; }
  /// Start and states along the flow.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  /// System that a noisy run would move, with its configuration; null if it refuses noise (see
  /// why_not_noisy()).
  [[nodiscard]] const Variant* noisy() const { return noisy_ ? &*noisy_ : nullptr; }
  [[nodiscard]] const std::string& why_not_noisy() const { return why_not_noisy_; }
  /// Runs with noise that the noisy system supports.
  [[nodiscard]] const std::vector<NoisyRun>& noisy_runs() const { return noisy_runs_; }
  /// Start and states to which noise has moved it.
  [[nodiscard]] const std::vector<Point>& noisy_points() const { return noisy_points_; }

  /// Creates the system again with other options or threads.
  [[nodiscard]] Variant make(const RunConfig& config, Workers& workers) const;

  /// Options as configured, or with steps controlled to `rtol` (atol is a hundredth of it).
  [[nodiscard]] FlowDriver::Options flow_options() const { return flow_options_; }
  [[nodiscard]] FlowDriver::Options tolerance(double rtol) const;
  /// Returns the reason why no tolerance makes the flow's error small; empty if one does.
  [[nodiscard]] std::string no_tolerance() const;

 private:
  /// Records an exception thrown by `call` as a fault of `what`. Returns true if there was none.
  template <class Call>
  bool try_to(const std::string& what, Call&& call);
  void follow_flow();
  void prepare_noise(const RunConfig& config);

  const Catalogue& catalogue_;
  Workers& workers_;
  VerifyOptions options_;
  Progress& progress_;
  Variant flow_;
  FlowDriver::Options flow_options_;
  double end_ = 0, window_ = 0;
  bool moves_ = false, brief_ = false;
  std::vector<std::string> faults_;
  std::string how_far_;
  std::vector<Point> points_;
  std::optional<Variant> noisy_;
  std::string why_not_noisy_;
  std::vector<NoisyRun> noisy_runs_;
  std::vector<Point> noisy_points_;
};

/// Returns the start of a system; NaN where the system writes nothing.
Point start_of(const System& system);
/// Returns the current point of a driver.
Point point_of(const Driver& driver, const std::string& where);

/// Relative size that counts as rounding.
inline constexpr double kRounding = 100 * 2.2e-16;
/// Returns the point with perturbed last digits of its state. The change of a value under this
/// perturbation bounds its accuracy: the change is large, for example, if terms of a right-hand
/// side cancel.
Point shaken(const Point& point, std::uint64_t seed);

/// Returns the time of a call at a point in seconds: the shortest of three, or that of one long
/// call. Each call has another state beside `point`, because systems may remember the last one.
double seconds_of(const Point& point, const std::function<void(const Point& near)>& call);
std::vector<double> rhs_at(const System& system, const Point& point);
std::vector<double> observables_at(const System& system, const Point& point);
bool same_bits(std::span<const double> a, std::span<const double> b);
/// Returns |value|; infinite for NaN, so that a maximum does not ignore it.
double magnitude(double value);
double largest(std::span<const double> x);
/// Returns the largest distance between states, block by block, relative to the block's size (its
/// scale or its largest entry).
double relative_distance(const System& system, const State& a, const State& b);
/// Formats a number as "3.2e-07".
std::string digits(double value);

}  // namespace popflow::verification
