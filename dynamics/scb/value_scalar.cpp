#include <algorithm>
#include <cmath>

#include "dynamics/scb/value.hpp"
#include "popflow/math.hpp"

namespace popflow::scb {

namespace {
// Indices of the scalars in the state.
enum : std::size_t { kAlpha = 0, kRho = 1, kBetaMu = 2, kBeta0 = 3 };

ValueScalars<double> scalars(const double* x) { return {x[kAlpha], x[kRho]}; }
}  // namespace

ScalarValue::ScalarValue(const Transition& transition, Eigen::MatrixXd V0, bool known_mean,
                         double natural)
    : p_(transition),
      known_mean_(known_mean),
      natural_(natural),
      m0_(V0 * transition.mu),
      R0_(std::move(V0)) {
  R0_.colwise() -= m0_;
  const Eigen::MatrixXd& P = p_.centred;
  traces_ = {.x = R0_.cwiseProduct(P).colwise().sum().dot(p_.mu),
             .y = R0_.colwise().squaredNorm().dot(p_.mu),
             .K_P = p_.K_P};
  R0_rows_ = R0_.rowwise().sum();
  P_rows_ = P.rowwise().sum();
  RR_ = R0_.squaredNorm();
  RP_ = R0_.cwiseProduct(P).sum();
  PP_ = P.squaredNorm();
  const Eigen::RowVectorXd columns = R0_.colwise().sum();
  R0_column_low_ = columns.minCoeff();
  R0_column_high_ = columns.maxCoeff();
}

std::vector<StateBlock> ScalarValue::blocks() const {
  if (known_mean_) return {{"alpha_V", 1, natural_}, {"rho_V", 1, 1.0}};
  return {{"alpha_V", 1, natural_}, {"rho_V", 1, 1.0}, {"beta_mu", 1, 1.0}, {"beta_0", 1, 1.0}};
}

std::vector<std::string> ScalarValue::fields() const {
  if (known_mean_) return {"alpha_V", "rho_V"};
  return {"alpha_V", "rho_V", "beta_mu", "beta_0"};
}

void ScalarValue::start(double* x) const {
  x[kAlpha] = 0;
  x[kRho] = 1;
  if (known_mean_) return;
  x[kBetaMu] = 0;
  x[kBeta0] = 1;
}

ScalarValue::Mean ScalarValue::mean_of(const double* x, double t) const {
  if (known_mean_) return {-math::expm1(-t), math::exp(-t)};
  return {x[kBetaMu], x[kBeta0]};
}

double ScalarValue::signal(const double* x) const { return traces_.PV(scalars(x)); }

Coupling ScalarValue::coupling(const double* x, double t) const {
  const Mean beta = mean_of(x, t);
  const Eigen::VectorXd Vmu = beta.mu * p_.mean + beta.zero * m0_;
  return {signal(x), traces_.VV(scalars(x)), Vmu.dot(p_.mean), Vmu.squaredNorm()};
}

void ScalarValue::derivative(const double* x, const Drive& drive, double* dx) const {
  const ValueScalars<double> rates = rates_of(scalars(x), drive.q, drive.two);
  dx[kAlpha] = rates.alpha;
  dx[kRho] = rates.rho;
  if (known_mean_) return;
  dx[kBetaMu] = drive.s - drive.ss * x[kBetaMu];
  dx[kBeta0] = -drive.ss * x[kBeta0];
}

ValueReport ScalarValue::report(const double* x, double t) const {
  const double rho = x[kRho];
  const double miss = x[kAlpha] - 1;  // E = u 1' + rho R0 + miss P~
  const Mean beta = mean_of(x, t);
  const Eigen::VectorXd Vmu = beta.mu * p_.mean + beta.zero * m0_;
  const Eigen::VectorXd u = Vmu - p_.mean;
  ValueReport r;
  r.PV = signal(x);
  r.EE = traces_.VV({.alpha = miss, .rho = rho});
  r.EP = traces_.PV({.alpha = miss, .rho = rho});
  r.uu = u.squaredNorm();
  r.uV = u.dot(Vmu);
  r.VmVm = Vmu.squaredNorm();
  const double distance2 = static_cast<double>(p_.size()) * r.uu +
                           2 * u.dot(rho * R0_rows_ + miss * P_rows_) + rho * rho * RR_ +
                           2 * rho * miss * RP_ + miss * miss * PP_;
  r.distance = std::sqrt(std::max(0.0, distance2));
  const double common = beta.mu * p_.mean.sum() + beta.zero * m0_.sum() - 1;
  r.column_sum_error =
      std::max(std::abs(common + rho * R0_column_low_), std::abs(common + rho * R0_column_high_));
  r.stationary_error = (Vmu - p_.mu).cwiseAbs().maxCoeff();
  return r;
}

Eigen::MatrixXd ScalarValue::matrix(const double* x, double t) const {
  const Mean beta = mean_of(x, t);
  Eigen::MatrixXd V = x[kRho] * R0_ + x[kAlpha] * p_.centred;
  V.colwise() += beta.mu * p_.mean + beta.zero * m0_;
  return V;
}

void ScalarValue::field(std::string_view name, const double* x, const FieldSink& sink) const {
  const std::vector<std::string> names = fields();
  sink(0, {x + (std::find(names.begin(), names.end(), name) - names.begin()), 1});
}

std::optional<ValueLinearization> ScalarValue::linearize(const double* x, double t,
                                                         const Drive& drive) const {
  const double alpha = x[kAlpha];
  const double rho = x[kRho];
  const auto n = static_cast<Eigen::Index>(known_mean_ ? 2 : 4);
  ValueLinearization l;
  l.own = Eigen::MatrixXd::Zero(n, n);
  l.by_drive = Eigen::MatrixXd::Zero(n, 4);
  l.coupling = Eigen::MatrixXd::Zero(4, n);

  l.own(kAlpha, kAlpha) = l.own(kRho, kRho) = -drive.two;
  l.by_drive(kAlpha, 0) = 1;
  l.by_drive(kAlpha, 1) = -alpha;
  l.by_drive(kRho, 1) = -rho;
  l.coupling(0, kAlpha) = p_.K_P;
  l.coupling(0, kRho) = traces_.x;
  l.coupling(1, kAlpha) = 2 * (rho * traces_.x + alpha * p_.K_P);
  l.coupling(1, kRho) = 2 * (rho * traces_.y + alpha * traces_.x);

  if (known_mean_) return l;  // the linear projected attention does not depend on the mean

  const Mean beta = mean_of(x, t);
  const Eigen::VectorXd Vmu = beta.mu * p_.mean + beta.zero * m0_;
  l.own(kBetaMu, kBetaMu) = l.own(kBeta0, kBeta0) = -drive.ss;
  l.by_drive(kBetaMu, 2) = 1;
  l.by_drive(kBetaMu, 3) = -x[kBetaMu];
  l.by_drive(kBeta0, 3) = -x[kBeta0];
  l.coupling(2, kBetaMu) = p_.mean.squaredNorm();
  l.coupling(2, kBeta0) = m0_.dot(p_.mean);
  l.coupling(3, kBetaMu) = 2 * Vmu.dot(p_.mean);
  l.coupling(3, kBeta0) = 2 * Vmu.dot(m0_);
  return l;
}

}  // namespace popflow::scb
