#include "support/joma_joint_fixture.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace popflow::joma_joint::test {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

std::span<const double> view(const VectorXd& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}
std::span<double> view(VectorXd& x) { return {x.data(), static_cast<std::size_t>(x.size())}; }

}  // namespace

Workers& pool() {
  static Workers workers(1);
  return workers;
}

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const AttentionKind attention :
       {AttentionKind::softmax, AttentionKind::exponential, AttentionKind::linear})
    for (const Activation activation : {Activation::identity, Activation::relu, Activation::square,
                                        Activation::gelu, Activation::silu, Activation::tanh})
      for (const Backprop backprop : {Backprop::cross_entropy, Backprop::stationary})
        all.push_back({attention, activation, backprop, 0.7, 0, false});
  return all;
}

std::string describe(const Variant& variant) {
  const char* attentions[] = {"softmax", "exp", "linear"};
  const char* activations[] = {"identity", "relu", "square", "gelu", "silu", "tanh"};
  return std::string(attentions[static_cast<int>(variant.attention)]) + ", " +
         activations[static_cast<int>(variant.activation)] + ", " +
         (variant.backprop == Backprop::cross_entropy ? "cross-entropy" : "stationary") +
         (variant.integrated ? ", integrated" : "");
}

Problem uneven_problem(Index tokens, Index classes, Index nodes, double size, double logit,
                       std::uint64_t seed) {
  RandomStream random(seed, Purpose::test);
  Problem problem;
  problem.X.resize(tokens, classes);
  for (double& x : problem.X.reshaped()) x = std::pow(random.uniform(), 2) + 0.02;
  for (Index c = 0; c < classes; ++c) problem.X.col(c) /= problem.X.col(c).sum();
  problem.p.resize(classes);
  for (double& p : problem.p) p = 0.2 + random.uniform();
  problem.p /= problem.p.sum();
  const auto normals = [&](Index n) {
    VectorXd x(n);
    for (double& entry : x) entry = size * random.normal();
    return x;
  };
  problem.start.V = normals(tokens * nodes).reshaped(nodes, tokens);
  problem.start.r = normals(nodes);
  problem.start.z = normals(tokens).array() + logit;
  return problem;
}

std::unique_ptr<JomaJoint> make_system(const Problem& problem, const Variant& variant) {
  return std::make_unique<JomaJoint>(problem, variant, pool());
}

Parameters start_of(const Problem& problem) {
  return {problem.start.V.transpose(), problem.start.r, problem.start.z};
}

MatrixXd hidden(const Problem& problem, const Parameters& at, const Variant& variant) {
  MatrixXd h(problem.nodes(), problem.classes());
  for (Index c = 0; c < h.cols(); ++c) {
    const VectorXd x = problem.X.col(c);
    VectorXd b = x.cwiseProduct(at.z);
    if (variant.attention != AttentionKind::linear)
      b = x.array() * (at.z.array() / variant.temperature).exp();
    if (variant.attention == AttentionKind::softmax) b /= b.sum();
    h.col(c) = at.V.transpose() * b + at.r;
  }
  return h;
}

VectorXd flat(const Parameters& at) {
  VectorXd x(at.V.size() + at.r.size() + at.z.size());
  x << at.V.reshaped(), at.r, at.z;
  return x;
}

Parameters unflat(const JomaJoint& system, const VectorXd& x) {
  const Index M = system.data().tokens();
  const Index K = system.data().nodes();
  return {x.head(M * K).reshaped(M, K), x.segment(M * K, K), x.tail(M)};
}

VectorXd state_at(const JomaJoint& system, const Parameters& at) {
  VectorXd x = VectorXd::Zero(static_cast<Index>(system.shape().state_size()));
  const Index M = at.V.rows();
  const Index K = at.V.cols();
  x.head(M * K) = at.V.transpose().reshaped();
  x.segment(M * K, K) = at.r;
  if (!system.variant().integrated) x.segment(M * K + K, M) = at.z;
  return x;
}

Regime regime_at(const JomaJoint& system, const Parameters& at) {
  Regime sides;
  if (system.switches() == 0) return sides;
  const MatrixXd h = hidden(system.data(), at, system.variant());
  for (const double entry : h.reshaped()) sides.push_back(entry > 0 ? 1 : 0);
  return sides;
}

Parameters parts(const JomaJoint& system, const VectorXd& x) {
  const Index M = system.data().tokens();
  const Index K = system.data().nodes();
  return {x.head(M * K).reshaped(K, M).transpose(), x.segment(M * K, K), x.segment(M * K + K, M)};
}

VectorXd rhs(const System& system, const VectorXd& x, const Regime& regime) {
  VectorXd dxdt(x.size());
  system.rhs({view(x), regime}, 0, view(dxdt));
  return dxdt;
}

std::map<std::string, double> observe(const System& system, const VectorXd& x,
                                      const Regime& regime) {
  const std::vector<ObservableInfo>& infos = system.info().observables;
  VectorXd values(static_cast<Index>(infos.size()));
  system.observe({view(x), regime}, 0, view(values));
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < infos.size(); ++i)
    named[infos[i].name] = values[static_cast<Index>(i)];
  return named;
}

FlowRun::FlowRun(const System& of, FlowDriver::Options options, double t)
    : system(of), driver(of, pool(), [&] {
        options.max_steps = std::min<std::int64_t>(options.max_steps, 2'000'000);
        return options;
      }()) {
  to(t);
}

void FlowRun::to(double t) {
  const Outcome outcome = driver.advance(t);
  if (outcome.kind != Outcome::Kind::reached) throw std::runtime_error(outcome.message);
}

VectorXd FlowRun::state() const {
  return Eigen::Map<const VectorXd>(driver.state().data(),
                                    static_cast<Index>(driver.state().size()));
}

double FlowRun::event(const std::string& name) const {
  for (const FoundEvent& found : driver.events())
    if (system.shape().events[found.event] == name) return found.time;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace popflow::joma_joint::test
