#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynamics/scb/system.hpp"
#include "popflow/flow_driver.hpp"
#include "popflow/random.hpp"

/// Small asymmetric problems, and their states in any coordinates.
namespace popflow::scb::test {

// ---- Problems and starts.

/// Draws a problem whose columns q_k differ in the number and size of their weights (column k has 1
/// + k mod `slots` of them). mu is far from uniform.
Problem uneven_problem(Eigen::Index vocabulary, std::int64_t context_length, Eigen::Index slots,
                       std::uint64_t seed);

/// Independent standard normals.
Eigen::MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns, RandomStream& random);
Eigen::VectorXd normal_vector(Eigen::Index size, RandomStream& random);

enum class From {
  stationary,  ///< V0 = mu 1'
  uniform,     ///< V0 = 11'/N
  transfer,    ///< 0.4 P + noise whose columns sum to 0.6: 1'V0 = 1', V0 mu is not mu
  anywhere,    ///< mu 1' + noise: 1'V0 is not 1', V0 mu is not mu
};
constexpr From all_starts[] = {From::stationary, From::uniform, From::transfer, From::anywhere};
Eigen::MatrixXd start_value(const Problem& problem, From from, std::uint64_t seed = 1);

/// Returns Q as a T x N matrix.
Eigen::MatrixXd dense_Q(const Problem& problem);

/// Constants of the signal equations, computed by dense matrix algebra from their definitions.
struct SignalConstants {
  SignalConstants(const Problem& problem, const Eigen::MatrixXd& V0);
  double T = 0, K_P = 0, kappa = 0;
  double x = 0, y = 0;  ///< tr(R0' P Sigma), tr(R0' R0 Sigma)
};

// ---- Systems and their states.

/// Returns eight variants: linear or softmax, either preconditioner, projected or not (softmax is
/// the same either way).
std::vector<Variant> all_variants();
std::string describe(const Variant& variant);
std::string describe(Coordinates coordinates);

std::unique_ptr<Scb> make_scb(const Problem& problem, const Variant& variant,
                              Coordinates coordinates, const Eigen::MatrixXd& V0, double l1 = 0);
std::unique_ptr<Scb> make_scb(const Problem& problem, const Variant& variant,
                              Coordinates coordinates, const Eigen::MatrixXd& V0,
                              const scb::Training& training);

// Views of a state's numbers for systems.
inline std::span<const double> view(const Eigen::VectorXd& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}
inline std::span<double> view(Eigen::VectorXd& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

Eigen::VectorXd start_of(const System& system);
Eigen::VectorXd rhs(const System& system, const Eigen::VectorXd& x, double t = 0,
                    const Regime& regime = {});
std::map<std::string, double> observe(const System& system, const Eigen::VectorXd& x, double t = 0);
/// Returns whether the system's shape contains this invariant.
bool has_invariant(const System& system, const std::string& observable);

/// A point or a velocity: the matrices V (N x N) and A (T x N).
struct Matrices {
  Eigen::MatrixXd V, A;
};

/// Returns V and A in any coordinates, from the recorded fields alone.
Matrices recorded(const Scb& system, const Eigen::VectorXd& x, double t = 0,
                  std::span<const double> regime = {});
/// Returns a recorded field as a matrix.
Eigen::MatrixXd recorded_field(const Scb& system, const std::string& name, const Eigen::VectorXd& x,
                               double t, Eigen::Index rows, Eigen::Index columns,
                               std::span<const double> regime = {});
/// Returns a system's state in full coordinates with this V and A (for softmax: logits log A).
Eigen::VectorXd full_state(const Scb& full, const Matrices& point);
/// Returns d/dt of recorded() along the flow, by finite differences along the right-hand side.
Matrices velocity(const Scb& system, const Eigen::VectorXd& x, double t = 0);

/// Returns a random state near the start: V and A change by about `size`, relatively.
Eigen::VectorXd random_state(const Scb& system, double size, std::uint64_t seed);

/// A flow with its driver; throws std::runtime_error if a target is not reached.
class Flow {
 public:
  explicit Flow(const System& system, FlowDriver::Options options = {});
  /// Advances to time t and returns the state there.
  Eigen::VectorXd to(double t);
  [[nodiscard]] double time() const { return driver_.time(); }
  /// Current state and regime.
  [[nodiscard]] StateView view() const { return driver_.view(); }
  /// Time of an event; NaN if it did not happen.
  [[nodiscard]] double event(const std::string& name) const;

 private:
  const System& system_;
  FlowDriver driver_;
};

/// Returns the largest |a - b| relative to the largest |b|.
double difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

}  // namespace popflow::scb::test
