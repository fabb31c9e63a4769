// Declared derivatives against central differences of order four,
//
//   (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h,
//
// at several steps h, of which the best counts: a right derivative agrees at some step between
// those that are too long for the formula and those too short for rounding, a wrong one at none.

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

using Vector = Eigen::VectorXd;

constexpr std::array<double, 4> kSteps = {0.03, 3e-3, 3e-4, 3e-5};  // in parts of an entry's size
constexpr double kAllowed = 1e-6;                                   // relative
constexpr double kTells = 0.01;  // an error that may be larger tells nothing
constexpr double kRounding = 100 * 2.2e-16;
constexpr std::size_t kAllEntries = 200;  // states up to this size: every entry by itself
constexpr std::size_t kJacobian = 400;

/// Is an error found, or would it have been?
bool tells(double error, double allowed) { return error > allowed || allowed <= kTells; }

Vector random_vector(RandomStream& random, std::size_t n) {
  Vector v(static_cast<Eigen::Index>(n));
  for (double& entry : v) entry = random.normal();
  return v;
}

/// The size of each entry: its block's scale, or its own where that is larger.
Vector sizes(const System& system, const State& x) {
  Vector size(static_cast<Eigen::Index>(x.size()));
  Eigen::Index i = 0;
  for (const StateBlock& block : system.shape().blocks)
    for (std::size_t k = 0; k < block.size; ++k, ++i)
      size[i] = std::max(block.scale, std::abs(x.data()[i]));
  return size;
}

/// Errors of a gradient, from which places where all is rounding are kept apart.
class Findings {
 public:
  void add(double error, double allowed, const std::string& where) {
    if (tells(error, allowed))
      worst_.add(error, allowed, where);
    else
      ++silent_;
  }
  [[nodiscard]] Check check(const std::string& name, const std::string& what) const {
    if (!worst_.any())
      return skipped(name, "the loss changes by no more than rounding at any state looked at");
    const std::string silent =
        silent_ == 0 ? ""
                     : "; " + std::to_string(silent_) + " more are rounding, as at a state of rest";
    return worst_.check(name, what + "; most in " + worst_.where() + silent);
  }

 private:
  Worst worst_;
  int silent_ = 0;
};

class Loss {
 public:
  Loss(const System& system, const Point& at)
      : flow_(system.capabilities().gradient_flow), at_(at), moved_(at.x) {
    here_ = magnitude(value(Vector::Zero(static_cast<Eigen::Index>(at.x.size()))));
  }
  /// The derivative along v by steps of h v, and what rounding does to it.
  struct Slope {
    double value, rounding;
  };
  Slope along(const Vector& v, double h) {
    const double near = value(h * v) - value(-h * v), far = value(2 * h * v) - value(-2 * h * v);
    return {(8 * near - far) / (12 * h), kRounding * std::max(here_, 1e-3) / h};
  }
  /// The same along one axis.
  Slope along(std::size_t i, double h) {
    const auto at = [&](double step) {
      const double before = moved_[i];
      moved_[i] = before + step;
      const double loss = flow_->loss({moved_, at_.regime}, at_.t);
      moved_[i] = before;
      return loss;
    };
    const double near = at(h) - at(-h), far = at(2 * h) - at(-2 * h);
    return {(8 * near - far) / (12 * h), kRounding * std::max(here_, 1e-3) / h};
  }
  Vector preconditioned(Vector v) const {
    flow_->precondition(at_.view(), {v.data(), static_cast<std::size_t>(v.size())});
    return v;
  }

 private:
  double value(const Vector& step) {
    for (std::size_t i = 0; i < moved_.size(); ++i)
      moved_[i] = at_.x[i] + step[static_cast<Eigen::Index>(i)];
    const double loss = flow_->loss({moved_, at_.regime}, at_.t);
    std::copy(at_.x.begin(), at_.x.end(), moved_.begin());
    return loss;
  }
  Capability<GradientFlow> flow_;
  const Point& at_;
  State moved_;
  double here_ = 0;
};

/// Every entry, block by block.
void compare_entries(const System& system, const Point& at, RandomStream& random, Findings& worst) {
  const std::size_t n = at.x.size();
  Loss loss(system, at);
  const std::vector<double> f = rhs_at(system, at);
  const Vector size = sizes(system, at.x);
  const std::vector<StateBlock>& blocks = system.shape().blocks;
  std::vector<double> best(blocks.size(), INFINITY), allowed(blocks.size(), kAllowed);
  for (const double step : kSteps) {
    Vector descent(static_cast<Eigen::Index>(n)), rounding(static_cast<Eigen::Index>(n));
    for (std::size_t i = 0; i < n; ++i) {
      const auto e = static_cast<Eigen::Index>(i);
      const Loss::Slope slope = loss.along(i, step * size[e]);
      descent[e] = -slope.value;
      rounding[e] = slope.rounding * (random.below(2) == 0 ? 1 : -1);
    }
    descent = loss.preconditioned(descent);
    const Vector uncertain = loss.preconditioned(rounding).cwiseAbs() + rounding.cwiseAbs();
    std::size_t i = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      double error = 0, most = 0, doubt = 0;
      for (std::size_t k = 0; k < blocks[b].size; ++k, ++i) {
        const auto e = static_cast<Eigen::Index>(i);
        error = std::max(error, magnitude(descent[e] - f[i]));
        most = std::max(most, std::abs(f[i]));
        doubt = std::max(doubt, magnitude(uncertain[e]));
      }
      if (most == 0) most = largest(f);
      if (most == 0) most = 1;
      const double can_be = kAllowed + doubt / most;
      if (error / most / can_be >= best[b] / allowed[b]) continue;
      best[b] = error / most;
      allowed[b] = can_be;
    }
  }
  for (std::size_t b = 0; b < blocks.size(); ++b)
    worst.add(best[b], allowed[b], blocks[b].name + " at " + at.where);
}

/// Random directions u in each block: <rhs, u> = -<M grad L, u> = -dL along M u, where M, the
/// preconditioner, is symmetric. False where it is not.
bool compare_directions(const System& system, const Point& at, RandomStream& random,
                        std::size_t directions, Findings& worst) {
  const std::size_t n = at.x.size();
  Loss loss(system, at);
  const Vector a = random_vector(random, n), b = random_vector(random, n);
  const double one = loss.preconditioned(a).dot(b), other = a.dot(loss.preconditioned(b));
  const double scale = loss.preconditioned(a).norm() * b.norm();
  if (std::abs(one - other) > 1e-10 * scale) return false;

  const std::vector<double> numbers = rhs_at(system, at);
  const Eigen::Map<const Vector> f(numbers.data(), static_cast<Eigen::Index>(n));
  const Vector size = sizes(system, at.x);
  Eigen::Index begin = 0;
  for (const StateBlock& block : system.shape().blocks) {
    const auto length = static_cast<Eigen::Index>(block.size);
    const double most = f.segment(begin, length).norm();
    for (std::size_t k = 0; k < directions && block.size > 0; ++k) {
      Vector u = Vector::Zero(static_cast<Eigen::Index>(n));
      u.segment(begin, length) = random_vector(random, block.size);
      const Vector v = loss.preconditioned(u);
      const double longest = v.cwiseAbs().cwiseQuotient(size).maxCoeff();
      double best = INFINITY, allowed = kAllowed;
      for (const double step : kSteps) {
        if (!(longest > 0)) {
          best = magnitude(f.dot(u)) / std::max(most, 1e-300);
          break;
        }
        const Loss::Slope slope = loss.along(v, step / longest);
        const double unit = most > 0 ? most : f.norm() > 0 ? f.norm() : 1;
        const double error = magnitude(f.dot(u) + slope.value) / unit;
        const double can_be = kAllowed + slope.rounding / unit;
        if (error / can_be >= best / allowed) continue;
        best = error;
        allowed = can_be;
      }
      worst.add(best, allowed, block.name + " at " + at.where);
    }
    begin += length;
  }
  return true;
}

void add_gradient(const Subject& subject, const System& system, const std::vector<Point>& points,
                  const std::string& name, Checks& checks) {
  if (!system.capabilities().gradient_flow) {
    const std::string why = system.capabilities().gradient_flow.why_not();
    if (!why.empty()) checks.push_back(skipped(name, why));
    return;
  }
  RandomStream random(subject.options().seed, Purpose::check, 1);
  const bool entries = system.shape().state_size() <= kAllEntries;
  Findings worst;
  for (const Point& point : points) {
    if (entries) {
      compare_entries(system, point, random, worst);
    } else if (!compare_directions(system, point, random, subject.options().thorough ? 32 : 4,
                                   worst)) {
      checks.push_back(
          skipped(name, "the state is large, and its preconditioner is not symmetric"));
      return;
    }
  }
  checks.push_back(
      worst.check(name, std::string("relative error against differences of the loss, ") +
                            (entries ? "every entry" : "random directions")));
}

/// The relative error of a column, at the best step, and how large it may be there: rounding of the
/// right-hand side is all that differences know of columns that are far smaller than it.
struct ColumnError {
  double error, allowed;
};
ColumnError column_error(const System& system, const Point& at, std::size_t column, double size,
                         const Vector& stated, double smallest) {
  State y = at.x;
  std::vector<double> f(at.x.size());
  const auto moved = [&](double step) -> Vector {
    y[column] = at.x[column] + step;
    system.rhs({y, at.regime}, at.t, f);
    y[column] = at.x[column];
    return Eigen::Map<const Vector>(f.data(), stated.size());
  };
  const double here = magnitude(moved(0).cwiseAbs().maxCoeff());
  ColumnError best = {INFINITY, kAllowed};
  for (const double step : kSteps) {
    const double h = step * size;
    const Vector difference =
        (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
    double unit = std::max(difference.cwiseAbs().maxCoeff(), smallest);
    if (!(unit > 0)) unit = 1;
    const double error = largest({Vector(stated - difference).data(), at.x.size()}) / unit;
    const double can_be = kAllowed + kRounding * here / h / unit;
    if (error / can_be < best.error / best.allowed) best = {error, can_be};
  }
  return best;
}

}  // namespace

Checks check_gradient(const Subject& subject) {
  Checks checks;
  add_gradient(subject, subject.system(), subject.points(), "gradient", checks);
  if (const Variant* noisy = subject.noisy();
      noisy != nullptr && noisy->system->shape().state_size() != subject.size())
    add_gradient(subject, *noisy->system, subject.noisy_points(), "gradient, noisy coordinates",
                 checks);
  return checks;
}

Checks check_jacobian(const Subject& subject) {
  const System& system = subject.system();
  const Capability<Jacobian> jacobian = system.capabilities().jacobian;
  if (!jacobian) {
    if (jacobian.why_not().empty()) return {};
    return {skipped("Jacobian", jacobian.why_not())};
  }
  const std::size_t n = subject.size();
  if (n > kJacobian)
    return {skipped("Jacobian", "differences of " + std::to_string(n) + " columns are too many; " +
                                    "up to " + std::to_string(kJacobian) + " are taken")};
  Worst worst;
  Eigen::MatrixXd j(n, n);
  std::vector<double> in_time(n), f(n);
  for (const Point& point : subject.points()) {
    j.setZero();
    jacobian->jacobian(point.view(), point.t, j, in_time);
    const Vector size = sizes(system, point.x);
    // Columns far below the others are differences of rounding.
    const double smallest = 1e-3 * j.cwiseAbs().maxCoeff();
    system.rhs(point.view(), point.t, f);
    std::size_t column = 0;
    for (const StateBlock& block : system.shape().blocks)
      for (std::size_t k = 0; k < block.size; ++k, ++column) {
        const auto e = static_cast<Eigen::Index>(column);
        // An entry that the regime holds in place: states with another value are not of the regime,
        // so there is no derivative along it.
        if (!point.regime.empty() && f[column] == 0 && j.row(e).isZero(0) && j.col(e).isZero(0))
          continue;
        const auto [error, allowed] =
            column_error(system, point, column, size[e], j.col(e), smallest);
        if (tells(error, allowed))
          worst.add(
              error, allowed,
              "the column of " + block.name + "[" + std::to_string(k) + "] at " + point.where);
      }
    // The explicit derivative by the time.
    double best = INFINITY, unit = 0;
    for (const double step : kSteps) {
      const double h = step * std::max(point.t, subject.window());
      const auto at = [&](double t) -> Vector {
        system.rhs(point.view(), t, f);
        return Eigen::Map<const Vector>(f.data(), static_cast<Eigen::Index>(n));
      };
      const Vector difference =
          (8 * (at(point.t + h) - at(point.t - h)) - (at(point.t + 2 * h) - at(point.t - 2 * h))) /
          (12 * h);
      const Eigen::Map<const Vector> stated(in_time.data(), static_cast<Eigen::Index>(n));
      unit = std::max(difference.cwiseAbs().maxCoeff(), 1e-3 * largest(f));
      const double error = largest({Vector(stated - difference).data(), n});
      best = std::min(best, unit > 0 ? error / unit : error);
    }
    worst.add(best, kAllowed, "the derivative by the time at " + point.where);
  }
  return {worst.check("Jacobian",
                      "relative error of a column against differences; most in " + worst.where())};
}

Checks check_parts(const Subject& subject) {
  const System& system = subject.system();
  const Capability<Separable> separable = system.capabilities().separable;
  if (!separable) return {};
  constexpr double kOfTheWhole = 1e-12;  // sums may be rounded in another order
  constexpr std::size_t kPlaces = 7;     // of a part
  const std::size_t n = subject.size();
  const std::span<const std::size_t> order = separable->part_order();
  const std::size_t passing = passage_items(system.info(), system.shape());
  Worst worst;
  std::vector<double> whole(n), parts(n), x(kPlaces), values(passing);
  for (const Point& point : subject.points()) {
    system.rhs(point.view(), point.t, whole);
    if (passing > 0) system.capabilities().events->passage_functions(point.view(), point.t, values);
    std::vector<double> passages(passing / n * kPlaces);
    for (std::size_t begin = 0; begin < n; begin += kPlaces) {
      const std::size_t count = std::min(kPlaces, n - begin);
      const auto entry = [&](std::size_t l) {
        return order.empty() ? begin + l : order[begin + l];
      };
      for (std::size_t l = 0; l < count; ++l) x[l] = point.x[entry(l)];
      separable->part_rhs(begin, {x.data(), count}, point.t, {&parts[begin], count});
      separable->part_passages(begin, {x.data(), count}, point.t,
                               {passages.data(), passing / n * count});
      for (std::size_t l = 0; l < count; ++l) {
        const std::string where = "entry " + std::to_string(entry(l)) + " at " + point.where;
        for (std::size_t i = 0; i < passing / n; ++i) {
          const double alone = passages[i * count + l], among = values[i * n + entry(l)];
          if (std::isnan(alone) && std::isnan(among)) continue;
          worst.add(alone - among, kOfTheWhole * std::max(1.0, std::abs(among)),
                    "a passage of " + where);
        }
      }
    }
    const double divisor =
        separable->normalised() ? std::accumulate(parts.begin(), parts.end(), 0.0) : 1;
    for (std::size_t place = 0; place < n; ++place) {
      const std::size_t entry = order.empty() ? place : order[place];
      worst.add(parts[place] / divisor - whole[entry], kOfTheWhole * largest(whole),
                "entry " + std::to_string(entry) + " at " + point.where);
    }
  }
  return {worst.check(
      "parts",
      "entries evaluated in parts against the whole, largest difference at " + worst.where())};
}

}  // namespace popflow::verification
