#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynamics/joma_joint/system.hpp"
#include "popflow/flow_driver.hpp"
#include "support/context_sampler.hpp"

/// Small asymmetric problems, and their states.
namespace popflow::joma_joint::test {

Workers& pool();

/// Returns all combinations of attention, activation and back-propagation (cross-entropy or
/// stationary).
std::vector<Variant> all_variants();
std::string describe(const Variant& variant);

/// Returns random contexts with uneven class weights. V, r and z are normals times `size`; `logit`
/// is added to z.
Problem uneven_problem(Eigen::Index tokens, Eigen::Index classes, Eigen::Index nodes, double size,
                       double logit, std::uint64_t seed);

std::unique_ptr<JomaJoint> make_system(const Problem& problem, const Variant& variant);

/// Returns the state with other parameters.
Eigen::VectorXd state_at(const JomaJoint& system, const Parameters& at);
/// Returns the regime at these parameters: the sides of all h along the flow of a sharp relu,
/// otherwise empty.
Regime regime_at(const JomaJoint& system, const Parameters& at);
/// Returns the parts V, r, z of a state or velocity in full coordinates.
Parameters parts(const JomaJoint& system, const Eigen::VectorXd& x);
/// Returns V (by columns), r and z as one vector.
Eigen::VectorXd flat(const Parameters& parameters);
Parameters unflat(const JomaJoint& system, const Eigen::VectorXd& x);
Parameters start_of(const Problem& problem);

Eigen::VectorXd rhs(const System& system, const Eigen::VectorXd& x, const Regime& regime = {});
std::map<std::string, double> observe(const System& system, const Eigen::VectorXd& x,
                                      const Regime& regime = {});
/// Returns h_{k,c} (node, class) by its definition.
Eigen::MatrixXd hidden(const Problem& problem, const Parameters& at, const Variant& variant);

/// A run of the flow up to `t`; throws if it ends earlier.
struct FlowRun {
  FlowRun(const System& system, FlowDriver::Options options, double t);
  /// Continues to a later time.
  void to(double t);
  [[nodiscard]] Eigen::VectorXd state() const;
  [[nodiscard]] const Regime& regime() const { return driver.regime(); }
  [[nodiscard]] double event(const std::string& name) const;
  const System& system;
  FlowDriver driver;
};

}  // namespace popflow::joma_joint::test
