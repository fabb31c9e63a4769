#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynamics/joma_joint/system.hpp"
#include "popflow/flow_driver.hpp"
#include "support/context_sampler.hpp"

/// Small asymmetric problems, and states of them.
namespace popflow::joma_joint::test {

Workers& pool();

/// Returns all attentions x all activations x {cross-entropy, stationary}.
std::vector<Variant> all_variants();
std::string describe(const Variant& variant);

/// Random contexts with uneven class weights; V, r and z are normals times `size`, and `logit` is
/// added to z.
Problem uneven_problem(Eigen::Index tokens, Eigen::Index classes, Eigen::Index nodes, double size,
                       double logit, std::uint64_t seed);

std::unique_ptr<JomaJoint> make_system(const Problem& problem, const Variant& variant);

/// State for other parameters.
Eigen::VectorXd state_at(const JomaJoint& system, const Parameters& at);
/// Regime for these parameters: along the flow of a sharp relu the sides of all h, otherwise empty.
Regime regime_at(const JomaJoint& system, const Parameters& at);
/// The parts V, r, z of a state or of a velocity in full coordinates.
Parameters parts(const JomaJoint& system, const Eigen::VectorXd& x);
/// V (by columns), r, z as one vector.
Eigen::VectorXd flat(const Parameters& parameters);
Parameters unflat(const JomaJoint& system, const Eigen::VectorXd& x);
Parameters start_of(const Problem& problem);

Eigen::VectorXd rhs(const System& system, const Eigen::VectorXd& x, const Regime& regime = {});
std::map<std::string, double> observe(const System& system, const Eigen::VectorXd& x,
                                      const Regime& regime = {});
/// h_{k,c} (node, class) from its definition.
Eigen::MatrixXd hidden(const Problem& problem, const Parameters& at, const Variant& variant);

/// A run of the flow up to `t`; throws if it ends before.
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
