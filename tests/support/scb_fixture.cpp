#include "support/scb_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "dynamics/scb/drawn.hpp"
#include "support/finite_differences.hpp"

namespace popflow::scb::test {

namespace {

/// Thread pool of all systems in these tests: three threads share the work even on small machines.
Workers& pool() {
  static Workers workers(3);
  return workers;
}

/// Returns diag(mu) - mu mu'.
Eigen::MatrixXd covariance(const Eigen::VectorXd& mu) {
  Eigen::MatrixXd sigma = -mu * mu.transpose();
  sigma.diagonal() += mu;
  return sigma;
}

}  // namespace

// ---- Problems and starts.

Problem uneven_problem(Eigen::Index vocabulary, std::int64_t context_length, Eigen::Index slots,
                       std::uint64_t seed) {
  Problem problem;
  problem.P = draw_transitions(vocabulary, 0.6, seed);
  problem.mu = stationary_distribution(problem.P, "P");
  const Positions even = draw_positions(vocabulary, context_length, slots, 0, seed);
  problem.Q = even;
  RandomStream random(seed, Purpose::test);
  for (Eigen::Index k = 0; k < vocabulary; ++k) {
    std::vector<WeightedPosition> column;
    double sum = 0;
    for (Eigen::Index slot = 0; slot <= k % slots; ++slot) {
      column.push_back({even.position(slot, k), 0.2 + random.uniform()});
      sum += column.back().weight;
    }
    for (WeightedPosition& entry : column) entry.weight /= sum;
    set_column(problem.Q, k, std::move(column));
  }
  return problem;
}

Eigen::MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns, RandomStream& random) {
  Eigen::MatrixXd matrix(rows, columns);
  for (double& x : matrix.reshaped()) x = random.normal();
  return matrix;
}

Eigen::VectorXd normal_vector(Eigen::Index size, RandomStream& random) {
  return normal_matrix(size, 1, random);
}

Eigen::MatrixXd start_value(const Problem& problem, From from, std::uint64_t seed) {
  const Eigen::Index N = problem.vocabulary();
  RandomStream random(seed, Purpose::test, 1);
  switch (from) {
    case From::stationary:
      return problem.mu.replicate(1, N);
    case From::uniform:
      return Eigen::MatrixXd::Constant(N, N, 1 / static_cast<double>(N));
    case From::transfer:
      return 0.4 * problem.P + 0.6 * draw_transitions(N, 1, seed + 100);
    case From::anywhere:
      return problem.mu.replicate(1, N) + 0.2 * normal_matrix(N, N, random);
  }
  throw std::logic_error("no such start");
}

Eigen::MatrixXd dense_Q(const Problem& problem) {
  const Positions& sparse = problem.Q;
  Eigen::MatrixXd Q = Eigen::MatrixXd::Zero(sparse.context_length, problem.vocabulary());
  for (Eigen::Index k = 0; k < Q.cols(); ++k)
    for (Eigen::Index slot = 0; slot < sparse.slots(); ++slot)
      if (sparse.position(slot, k) >= 0) Q(sparse.position(slot, k), k) = sparse.weight(slot, k);
  return Q;
}

SignalConstants::SignalConstants(const Problem& problem, const Eigen::MatrixXd& V0)
    : T(static_cast<double>(problem.Q.context_length)) {
  const Eigen::MatrixXd& P = problem.P;
  const Eigen::VectorXd& mu = problem.mu;
  const Eigen::MatrixXd sigma = covariance(mu);
  const Eigen::MatrixXd R0 = V0 - V0 * mu * Eigen::RowVectorXd::Ones(mu.size());
  K_P = (P.transpose() * P * sigma).trace();
  kappa = problem.Q.weight.colwise().squaredNorm().dot(mu) - 1 / T;
  x = (R0.transpose() * P * sigma).trace();
  y = (R0.transpose() * R0 * sigma).trace();
}

// ---- Systems and their states.

std::vector<Variant> all_variants() {
  std::vector<Variant> variants;
  for (const bool softmax : {false, true})
    for (const bool inverse_frequency : {true, false})
      for (const bool project : {true, false})
        variants.push_back({softmax, inverse_frequency, project});
  return variants;
}

std::string describe(const Variant& variant) {
  return std::string(variant.softmax ? "softmax" : "linear") +
         (variant.inverse_frequency ? ", inverse-frequency" : ", no preconditioner") +
         (variant.project ? ", projected" : ", not projected");
}

std::string describe(Coordinates coordinates) {
  if (coordinates == Coordinates::full) return "full";
  return coordinates == Coordinates::support ? "support" : "signal";
}

std::unique_ptr<Scb> make_scb(const Problem& problem, const Variant& variant,
                              Coordinates coordinates, const Eigen::MatrixXd& V0, double l1) {
  return make_scb(problem, variant, coordinates, V0, scb::Training{.l1 = l1});
}

std::unique_ptr<Scb> make_scb(const Problem& problem, const Variant& variant,
                              Coordinates coordinates, const Eigen::MatrixXd& V0,
                              const scb::Training& training) {
  return std::make_unique<Scb>(problem, variant, coordinates, Start{V0, false}, training, pool());
}

Eigen::VectorXd start_of(const System& system) {
  Eigen::VectorXd x(static_cast<Eigen::Index>(system.shape().state_size()));
  system.start(view(x));
  return x;
}

Eigen::VectorXd rhs(const System& system, const Eigen::VectorXd& x, double t,
                    const Regime& regime) {
  Eigen::VectorXd dxdt(x.size());
  system.rhs({view(x), regime}, t, view(dxdt));
  return dxdt;
}

std::map<std::string, double> observe(const System& system, const Eigen::VectorXd& x, double t) {
  const std::vector<ObservableInfo>& infos = system.info().observables;
  Eigen::VectorXd values(static_cast<Eigen::Index>(infos.size()));
  system.observe(view(x), t, view(values));
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < infos.size(); ++i)
    named[infos[i].name] = values[static_cast<Eigen::Index>(i)];
  return named;
}

bool has_invariant(const System& system, const std::string& observable) {
  const std::vector<std::string>& all = system.shape().invariants;
  return std::find(all.begin(), all.end(), observable) != all.end();
}

Eigen::MatrixXd recorded_field(const Scb& system, const std::string& name, const Eigen::VectorXd& x,
                               double t, Eigen::Index rows, Eigen::Index columns,
                               std::span<const double> regime) {
  const std::vector<std::string>& fields = system.shape().fields;
  if (std::find(fields.begin(), fields.end(), name) == fields.end())
    throw std::invalid_argument("no field " + name);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> field(rows, columns);
  std::atomic<std::size_t> count = 0;  // pieces come from several threads
  system.field(name, {view(x), regime}, t, [&](std::size_t first, std::span<const double> values) {
    std::copy(values.begin(), values.end(), field.data() + first);
    count += values.size();
  });
  if (count != static_cast<std::size_t>(field.size()))
    throw std::runtime_error("field " + name + " has another size");
  return field;
}

Matrices recorded(const Scb& system, const Eigen::VectorXd& x, double t,
                  std::span<const double> regime) {
  const Problem& problem = system.data();
  const Eigen::Index N = problem.vocabulary();
  const Eigen::Index T = problem.Q.context_length;
  const auto number = [&](const std::string& name) {
    return recorded_field(system, name, x, t, 1, 1)(0);
  };
  Matrices point;

  if (system.shape().fields.front() == "V") {
    point.V = recorded_field(system, "V", x, t, N, N);
  } else {
    const Eigen::MatrixXd V0 = system.value_matrix(view(start_of(system)), 0);
    const Eigen::VectorXd m0 = V0 * problem.mu;
    const bool signal = system.coordinates() == Coordinates::signal;
    const double beta_mu = signal ? 1 - std::exp(-t) : number("beta_mu");
    const double beta_0 = signal ? std::exp(-t) : number("beta_0");
    const Eigen::RowVectorXd ones = Eigen::RowVectorXd::Ones(N);
    point.V = (beta_mu * problem.mu + beta_0 * m0) * ones + number("rho_V") * (V0 - m0 * ones) +
              number("alpha_V") * (problem.P - problem.mu * ones);
  }

  switch (system.coordinates()) {
    case Coordinates::full:
      point.A = recorded_field(system, "A", x, t, T, N, regime);
      break;
    case Coordinates::support: {
      const Eigen::Index slots = problem.Q.slots();
      const Eigen::MatrixXd on = recorded_field(system, "A_support", x, t, slots, N, regime);
      const Eigen::MatrixXd off = recorded_field(system, "A_off", x, t, 1, N, regime);
      point.A = off.replicate(T, 1);
      for (Eigen::Index k = 0; k < N; ++k)
        for (Eigen::Index slot = 0; slot < slots; ++slot)
          if (problem.Q.position(slot, k) >= 0)
            point.A(problem.Q.position(slot, k), k) = on(slot, k);
      break;
    }
    case Coordinates::signal: {
      const double uniform = 1 / static_cast<double>(T);
      point.A = uniform + number("alpha_A") * (dense_Q(problem).array() - uniform);
      break;
    }
  }
  return point;
}

Eigen::VectorXd full_state(const Scb& full, const Matrices& point) {
  const Eigen::MatrixXd V0 = full.value_matrix(view(start_of(full)), 0);
  Eigen::VectorXd x(point.V.size() + point.A.size());
  x.head(point.V.size()) = (point.V - V0).reshaped();
  if (full.variant().softmax)
    x.tail(point.A.size()) = point.A.array().log().reshaped();
  else
    x.tail(point.A.size()) = (point.A.array() - 1 / static_cast<double>(point.A.rows())).reshaped();
  return x;
}

Matrices velocity(const Scb& system, const Eigen::VectorXd& x, double t) {
  const Eigen::VectorXd dxdt = rhs(system, x, t);
  constexpr double kStep = 1e-3;
  return {popflow::test::derivative(
              [&](double h) { return recorded(system, x + h * dxdt, t + h).V; }, kStep),
          popflow::test::derivative(
              [&](double h) { return recorded(system, x + h * dxdt, t + h).A; }, kStep)};
}

Eigen::VectorXd random_state(const Scb& system, double size, std::uint64_t seed) {
  RandomStream random(seed, Purpose::test, 2);
  Eigen::VectorXd x = start_of(system);
  for (double& number : x) number += size * random.normal();
  return x;
}

namespace {

/// Limits the number of steps, so that a wrong flow fails instead of running forever.
FlowDriver::Options limited(FlowDriver::Options options) {
  constexpr std::int64_t kMaxSteps = 400'000;
  options.max_steps = std::min(options.max_steps, kMaxSteps);
  return options;
}

}  // namespace

Flow::Flow(const System& system, FlowDriver::Options options)
    : system_(system), driver_(system, pool(), limited(std::move(options))) {}

Eigen::VectorXd Flow::to(double t) {
  const Outcome outcome = driver_.advance(t);
  if (outcome.kind != Outcome::Kind::reached) throw std::runtime_error(outcome.message);
  return Eigen::Map<const Eigen::VectorXd>(driver_.state().data(),
                                           static_cast<Eigen::Index>(driver_.state().size()));
}

double Flow::event(const std::string& name) const {
  for (const FoundEvent& found : driver_.events())
    if (system_.shape().events[found.event] == name) return found.time;
  return std::numeric_limits<double>::quiet_NaN();
}

double difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff();
}

}  // namespace popflow::scb::test
