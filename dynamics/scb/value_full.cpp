#include <algorithm>
#include <cmath>

#include "dynamics/scb/value.hpp"

namespace popflow::scb {

namespace {
using Map = Eigen::Map<const Eigen::MatrixXd>;
}  // namespace

Transition::Transition(const Eigen::MatrixXd& P, const Eigen::VectorXd& stationary)
    : centred(P), mean(P * stationary), mu(stationary) {
  norm2 = P.colwise().squaredNorm().dot(mu);
  centred.colwise() -= mean;
  K_P = centred.colwise().squaredNorm().dot(mu);
}

FullValue::FullValue(const Transition& transition, Eigen::MatrixXd V0, bool inverse_frequency,
                     double natural, Workers& workers)
    : p_(transition),
      workers_(workers),
      V0_(std::move(V0)),
      m0_(V0_ * transition.mu),
      inverse_frequency_(inverse_frequency),
      natural_(natural) {}

void FullValue::each_column(const std::function<void(Eigen::Index)>& body) const {
  constexpr Eigen::Index kGroup = 32;
  const auto tasks = static_cast<std::size_t>((p_.size() + kGroup - 1) / kGroup);
  workers_.run(tasks, static_cast<std::size_t>(V0_.size()), [&](std::size_t task) {
    const Eigen::Index begin = static_cast<Eigen::Index>(task) * kGroup;
    for (Eigen::Index m = begin; m < std::min(p_.size(), begin + kGroup); ++m) body(m);
  });
}

std::vector<StateBlock> FullValue::blocks() const {
  return {{"V", static_cast<std::size_t>(V0_.size()), natural_}};
}

void FullValue::start(double* x) const { std::fill_n(x, V0_.size(), 0.0); }

Eigen::VectorXd FullValue::mean(const double* x) const {
  return m0_ + Map(x, p_.size(), p_.size()) * p_.mu;
}

double FullValue::signal(const double* x) const {
  const Map D(x, p_.size(), p_.size());
  double sum = 0;
  for (Eigen::Index m = 0; m < p_.size(); ++m)
    sum += p_.mu[m] * (V0_.col(m) + D.col(m)).dot(p_.centred.col(m));
  return sum;
}

Coupling FullValue::coupling(const double* x, double /*t*/) const {
  const Map D(x, p_.size(), p_.size());
  const Eigen::VectorXd Vmu = mean(x);
  // Centred: tr(V'V Sigma) = sum_m mu_m |V_m - V mu|^2. Computed column by column, then added in
  // order.
  Eigen::VectorXd PV(p_.size()), VV(p_.size());
  each_column([&](Eigen::Index m) {
    const auto v = V0_.col(m) + D.col(m) - Vmu;
    PV[m] = v.dot(p_.centred.col(m));
    VV[m] = v.squaredNorm();
  });
  return {PV.dot(p_.mu), VV.dot(p_.mu), Vmu.dot(p_.mean), Vmu.squaredNorm()};
}

Eigen::VectorXd FullValue::shift_of(const Drive& drive, const Eigen::VectorXd& Vmu) const {
  return drive.s * p_.mean + (drive.two - drive.ss) * Vmu;
}

void FullValue::derivative(const double* x, const Drive& drive, double* dx) const {
  const Map D(x, p_.size(), p_.size());
  Eigen::Map<Eigen::MatrixXd> out(dx, p_.size(), p_.size());
  const Eigen::VectorXd Vmu = mean(x);
  // -(gradient) diag(1/mu) = c_q P~ + c_s (P mu) 1' - c_2 (V - V mu 1') - c_ss V mu 1'
  const Eigen::VectorXd shift = shift_of(drive, Vmu);
  each_column([&](Eigen::Index m) {
    const double weight = inverse_frequency_ ? 1.0 : p_.mu[m];
    out.col(m) =
        weight * (drive.q * p_.centred.col(m) - drive.two * (V0_.col(m) + D.col(m)) + shift);
  });
}

void FullValue::step_in_place(double* x, const Drive& drive, double h, bool keeps_sum,
                              const Addend& addend) const {
  Eigen::Map<Eigen::MatrixXd> D(x, p_.size(), p_.size());
  const Eigen::VectorXd shift = shift_of(drive, mean(x));
  each_column([&](Eigen::Index m) {
    thread_local Eigen::VectorXd added;
    added.resize(p_.size());
    const Scaled scaled =
        addend(static_cast<std::size_t>(m * p_.size()), keeps_sum,
               {added.data(), static_cast<std::size_t>(p_.size())}, D.col(m).data());
    const double by = h * (inverse_frequency_ ? 1.0 : p_.mu[m]);
    D.col(m) += by * (drive.q * p_.centred.col(m) - drive.two * (V0_.col(m) + D.col(m)) + shift) +
                scaled.factor * added;
    D.col(m).array() += scaled.offset;
  });
}

ValueReport FullValue::report(const double* x, double /*t*/) const {
  const Map D(x, p_.size(), p_.size());
  const Eigen::VectorXd Vmu = mean(x);
  const Eigen::VectorXd u = Vmu - p_.mean;
  ValueReport r;
  double distance2 = 0;
  Eigen::VectorXd v(p_.size()), e(p_.size());
  for (Eigen::Index m = 0; m < p_.size(); ++m) {
    v = V0_.col(m) + D.col(m);
    e = v - Vmu - p_.centred.col(m);  // column m of E, centred
    r.PV += p_.mu[m] * (v - Vmu).dot(p_.centred.col(m));
    r.EE += p_.mu[m] * e.squaredNorm();
    r.EP += p_.mu[m] * e.dot(p_.centred.col(m));
    distance2 += (e + u).squaredNorm();
    r.column_sum_error = std::max(r.column_sum_error, std::abs(v.sum() - 1));
  }
  r.uu = u.squaredNorm();
  r.uV = u.dot(Vmu);
  r.VmVm = Vmu.squaredNorm();
  r.distance = std::sqrt(distance2);
  r.stationary_error = (Vmu - p_.mu).cwiseAbs().maxCoeff();
  return r;
}

Eigen::MatrixXd FullValue::matrix(const double* x, double /*t*/) const {
  return V0_ + Map(x, p_.size(), p_.size());
}

void FullValue::field(std::string_view /*name*/, const double* x, const FieldSink& sink) const {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> V =
      V0_ + Map(x, p_.size(), p_.size());
  sink(0, {V.data(), static_cast<std::size_t>(V.size())});
}

}  // namespace popflow::scb
