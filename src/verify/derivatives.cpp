// Comparison of declared derivatives with central differences of order four,
//
//   (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h,
//
// for several steps h, of which the best counts. A correct derivative agrees for some step between
// those too long for the formula and those dominated by rounding; a wrong one agrees for none.

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

using Vector = Eigen::VectorXd;

constexpr std::array<double, 4> kRelativeSteps = {0.03, 3e-3, 3e-4,
                                                  3e-5};  // relative to an entry's size
constexpr std::array<double, 3> kStepsBetweenKinks = {3e-6, 3e-7, 3e-8};
constexpr double kAllowed = 1e-6;          // relative
constexpr double kTells = 0.01;            // a larger error bound is inconclusive
constexpr std::size_t kMostEntries = 200;  // up to this state size, every entry is checked
constexpr std::size_t kJacobian = 400;

/// Returns whether the comparison is conclusive: an error was found, or would have been found.
bool is_conclusive(double error, double allowed) { return error > allowed || allowed <= kTells; }

Vector random_vector(RandomStream& random, std::size_t n) {
  Vector v(static_cast<Eigen::Index>(n));
  for (double& entry : v) entry = random.normal();
  return v;
}

double largest_entry(const Vector& v) {
  return verification::largest({v.data(), static_cast<std::size_t>(v.size())});
}

/// Returns the size of each entry: its block's scale, or its own magnitude if larger.
Vector sizes(const System& system, const State& x) {
  Vector size(static_cast<Eigen::Index>(x.size()));
  Eigen::Index i = 0;
  for (const StateBlock& block : system.shape().blocks)
    for (std::size_t k = 0; k < block.size; ++k, ++i)
      size[i] = std::max(block.scale, std::abs(x.data()[i]));
  return size;
}

/// Errors of derivatives; places where rounding dominates are kept separately.
class Findings {
 public:
  /// `of` names the derivatives in messages.
  explicit Findings(std::string of) : of_(std::move(of)) {}
  void add(double error, double allowed, const std::string& where) {
    if (is_conclusive(error, allowed))
      worst_.add(error, allowed, where);
    else
      ++silent_;
  }
  [[nodiscard]] Check check(const std::string& name, const std::string& what) const {
    if (!worst_.any())
      return skipped(name, of_ + " changes only by rounding at all states of the check");
    const std::string silent =
        silent_ == 0 ? ""
                     : "; " + std::to_string(silent_) +
                           " more are dominated by rounding, as at a state of rest, or by kinks";
    return worst_.check(name, what + "; largest in " + worst_.where() + silent);
  }

 private:
  std::string of_;
  Worst worst_;
  int silent_ = 0;
};

class Loss {
 public:
  /// Also evaluates the right-hand side `f` with perturbed last digits of the state, to measure
  /// rounding.
  Loss(const System& system, const Point& at, const std::vector<double>& f, std::uint64_t seed)
      : flow_(system.capabilities().gradient_flow),
        at_(at),
        moved_(at.x),
        rhs_rounding_(Vector::Zero(static_cast<Eigen::Index>(f.size()))) {
    const auto flow = Vector::Map(f.data(), rhs_rounding_.size());
    const double here = here_ = flow_->loss(at.view(), at.t);
    rounding_ = kRounding * std::max(magnitude(here), 1e-3);
    // Terms of the loss may cancel, as at the minimum of a difference. The perturbation is
    // repeated, because a single one may have no effect by chance.
    constexpr std::uint64_t kTimes = 8;
    for (std::uint64_t k = 0; k < kTimes; ++k) {
      const Point near = shaken(at, seed + k);
      rounding_ = std::max(rounding_, magnitude(flow_->loss(near.view(), near.t) - here));
      const std::vector<double> other = rhs_at(system, near);
      rhs_rounding_ = rhs_rounding_.cwiseMax(
          (Vector::Map(other.data(), rhs_rounding_.size()) - flow).cwiseAbs());
    }
  }
  /// Returns the change of the right-hand side's entries under perturbed last digits of the state.
  [[nodiscard]] const Vector& rhs_rounding() const { return rhs_rounding_; }
  /// Derivative along v from steps h v, its rounding error, and the difference between the slopes
  /// on both sides, which is proportional to h for smooth losses.
  struct Slope {
    double value, rounding, bend = 0;
  };
  Slope along(const Vector& v, double h) {
    const double forth = value(h * v), back = value(-h * v);
    const double near = forth - back, far = value(2 * h * v) - value(-2 * h * v);
    return {(8 * near - far) / (12 * h), rounding_ / h, magnitude(forth + back - 2 * here_) / h};
  }
  /// Returns the derivative along one axis.
  Slope along(std::size_t i, double h) {
    const auto at = [&](double step) {
      const double before = moved_[i];
      moved_[i] = before + step;
      const double loss = flow_->loss({moved_, at_.regime}, at_.t);
      moved_[i] = before;
      return loss;
    };
    const double forth = at(h), back = at(-h);
    const double near = forth - back, far = at(2 * h) - at(-2 * h);
    return {(8 * near - far) / (12 * h), rounding_ / h, magnitude(forth + back - 2 * here_) / h};
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
  double rounding_ = 0, here_ = 0;
  Vector rhs_rounding_;
};

/// Comparison of a right-hand side with differences of the loss by steps of decreasing length.
/// Differences of a smooth loss settle before rounding dominates. With kinks, as of ReLU on many
/// samples, they settle at steps so short that no sample crosses a kink, or never: such a
/// comparison is inconclusive.
class Compared {
 public:
  /// Adds an error and its bound, the change of the differences since the step before, and the bend
  /// of the loss with its rounding error.
  void add(double error, double allowed, double change, double bend, double rounding) {
    if (error / allowed < best_ / allowed_) {
      best_ = error;
      allowed_ = allowed;
    }
    finite_ = finite_ || std::isfinite(error);
    const bool bends = bend > 0.5 * bend_before_ && bend > 4 * rounding;
    settled_ = !bends && change <= allowed;
    bend_before_ = bend;
  }
  [[nodiscard]] bool agrees() const { return best_ <= allowed_ && allowed_ <= kTells; }
  /// Whether shorter steps would tell no more: the right-hand side agrees, or the last two steps
  /// have the same slope, and no kink is beside the state.
  [[nodiscard]] bool is_decided() const { return agrees() || settled_; }
  void report(Findings& worst, const std::string& where) const {
    if (agrees() || settled_ || !finite_)
      worst.add(best_, allowed_, where);
    else
      worst.add(0, INFINITY, where);
  }

 private:
  double best_ = INFINITY, allowed_ = kAllowed;
  double bend_before_ = INFINITY;
  bool settled_ = false, finite_ = false;
};

/// Compares every entry, block by block.
void compare_entries(const System& system, const Point& at, std::uint64_t seed,
                     RandomStream& random, Findings& worst) {
  const std::size_t n = at.x.size();
  const std::vector<double> f = rhs_at(system, at);
  Loss loss(system, at, f, seed);
  const Vector size = sizes(system, at.x);
  const std::vector<StateBlock>& blocks = system.shape().blocks;
  std::vector<Compared> compared(blocks.size());
  Vector before = Vector::Constant(static_cast<Eigen::Index>(n), NAN);
  const auto compare = [&](double step) {
    Vector descent(static_cast<Eigen::Index>(n)), rounding(static_cast<Eigen::Index>(n));
    double bend = 0, rounding_of_bend = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto e = static_cast<Eigen::Index>(i);
      const Loss::Slope slope = loss.along(i, step * size[e]);
      descent[e] = -slope.value;
      rounding[e] = slope.rounding * (random.below(2) == 0 ? 1 : -1);
      bend = std::max(bend, slope.bend);
      rounding_of_bend = std::max(rounding_of_bend, slope.rounding);
    }
    descent = loss.preconditioned(descent);
    const Vector uncertain =
        loss.preconditioned(rounding).cwiseAbs() + rounding.cwiseAbs() + loss.rhs_rounding();
    std::size_t i = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      double error = 0, most = 0, doubt = 0, change = 0;
      for (std::size_t k = 0; k < blocks[b].size; ++k, ++i) {
        const auto e = static_cast<Eigen::Index>(i);
        error = std::max(error, magnitude(descent[e] - f[i]));
        most = std::max(most, std::abs(f[i]));
        doubt = std::max(doubt, magnitude(uncertain[e]));
        change = std::max(change, magnitude(descent[e] - before[e]));
      }
      if (most == 0) most = verification::largest(f);
      if (most == 0) most = 1;
      compared[b].add(error / most, kAllowed + doubt / most, change / most, bend, rounding_of_bend);
    }
    before = descent;
  };
  for (const double step : kRelativeSteps) compare(step);
  for (const double step : kStepsBetweenKinks) {
    if (std::ranges::all_of(compared, &Compared::is_decided)) break;
    compare(step);
  }
  for (std::size_t b = 0; b < blocks.size(); ++b)
    compared[b].report(worst, blocks[b].name + " at " + at.where);
}

/// Comparison along one direction.
class Along {
 public:
  /// `along` is the right-hand side along the direction, `unit` the size of errors.
  Along(double along, double unit) : along_(along), unit_(unit) {}
  void add(const Loss::Slope& slope, double rhs_rounding) {
    compared_.add(magnitude(along_ + slope.value) / unit_,
                  kAllowed + (slope.rounding + rhs_rounding) / unit_,
                  magnitude(slope.value - before_) / unit_, slope.bend, slope.rounding);
    before_ = slope.value;
  }
  [[nodiscard]] bool agrees() const { return compared_.agrees(); }
  [[nodiscard]] bool is_decided() const { return compared_.is_decided(); }
  void report(Findings& worst, const std::string& where) const { compared_.report(worst, where); }

 private:
  double along_, unit_;
  Compared compared_;
  double before_ = NAN;
};

/// Random directions along which a right-hand side is compared with differences of the loss.
struct Directions {
  std::size_t number = 4;    ///< in each block, or of the whole state
  bool of_blocks = true;     ///< otherwise each direction moves the whole state
  bool is_one_step = false;  ///< the first step length that agrees ends the comparison
};

/// Returns as many directions as take about a third of the time that brief checks may take.
Directions brief_directions(const Subject& subject, const System& system, const Point& at) {
  constexpr double kPoints = 3;
  constexpr double kLosses = 4 * (kRelativeSteps.size() + kStepsBetweenKinks.size());
  constexpr double kFewestOfWhole = 2, kMost = 4;
  const double seconds = seconds_of(at, [&](const Point& near) {
    static_cast<void>(system.capabilities().gradient_flow->loss(near.view(), near.t));
  });
  const double fit = 0.3 * subject.options().within / (kPoints * kLosses * seconds);
  const double of_each = fit / static_cast<double>(system.shape().blocks.size());
  const double number = std::min(of_each >= 1 ? of_each : std::max(fit, kFewestOfWhole), kMost);
  return {static_cast<std::size_t>(number), of_each >= 1, true};
}

/// Compares random directions u in each block: <rhs, u> = -<M grad L, u> = -dL along M u, where the
/// preconditioner M is symmetric. Returns false if M is not.
bool compare_directions(const System& system, const Point& at, std::uint64_t seed,
                        RandomStream& random, const Directions& directions, Findings& worst) {
  const std::size_t n = at.x.size();
  const std::vector<double> numbers = rhs_at(system, at);
  Loss loss(system, at, numbers, seed);
  const Vector a = random_vector(random, n), b = random_vector(random, n);
  const double one = loss.preconditioned(a).dot(b), other = a.dot(loss.preconditioned(b));
  const double scale = loss.preconditioned(a).norm() * b.norm();
  if (std::abs(one - other) > 1e-10 * scale) return false;

  const Eigen::Map<const Vector> f(numbers.data(), static_cast<Eigen::Index>(n));
  const Vector size = sizes(system, at.x);
  Eigen::Index begin = 0;
  const std::vector<StateBlock> whole = {{"the whole state", n, 1.0}};
  for (const StateBlock& block : directions.of_blocks ? system.shape().blocks : whole) {
    const auto length = static_cast<Eigen::Index>(block.size);
    const double most = f.segment(begin, length).norm();
    for (std::size_t k = 0; k < directions.number && block.size > 0; ++k) {
      Vector u = Vector::Zero(static_cast<Eigen::Index>(n));
      u.segment(begin, length) = random_vector(random, block.size);
      const Vector v = loss.preconditioned(u);
      const double longest = v.cwiseAbs().cwiseQuotient(size).maxCoeff();
      if (!(longest > 0)) {
        worst.add(magnitude(f.dot(u)) / std::max(most, 1e-300), kAllowed,
                  block.name + " at " + at.where);
        continue;
      }
      const double unit = most > 0 ? most : f.norm() > 0 ? f.norm() : 1;
      const double rhs_rounding = loss.rhs_rounding().cwiseProduct(u).norm();
      Along along(f.dot(u), unit);
      for (const double step : kRelativeSteps) {
        along.add(loss.along(v, step / longest), rhs_rounding);
        if (directions.is_one_step && along.agrees()) break;
      }
      for (const double step : kStepsBetweenKinks) {
        if (along.is_decided()) break;
        along.add(loss.along(v, step / longest), rhs_rounding);
      }
      along.report(worst, block.name + " at " + at.where);
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
  const bool entries = system.shape().state_size() <= kMostEntries && !subject.is_brief();
  std::optional<Directions> directions;
  Findings worst("the loss");
  for (const Point& point : points) {
    if (!std::isfinite(system.capabilities().gradient_flow->loss(point.view(), point.t))) {
      checks.push_back(skipped(name, "the loss is not finite at " + point.where));
      return;
    }
    if (!directions && subject.is_brief()) directions = brief_directions(subject, system, point);
    if (!directions) directions = {.number = subject.options().thorough ? 32U : 4U};
    if (entries) {
      compare_entries(system, point, subject.options().seed, random, worst);
    } else if (!compare_directions(system, point, subject.options().seed, random, *directions,
                                   worst)) {
      checks.push_back(skipped(name,
                               "the state is too large to check every entry, and random directions "
                               "need a symmetric preconditioner"));
      return;
    }
  }
  checks.push_back(
      worst.check(name, std::string("relative error against differences of the loss, ") +
                            (entries                 ? "every entry"
                             : directions->of_blocks ? "random directions"
                                                     : "random directions of the whole state")));
}

/// Comparison of a state's Jacobian with differences of the right-hand side.
class JacobianAt {
 public:
  JacobianAt(const Subject& subject, const Point& at)
      : subject_(subject),
        system_(subject.system()),
        at_(at),
        n_(at.x.size()),
        stated_(n_, n_),
        in_time_(n_),
        f_(rhs_at(system_, at)),
        size_(sizes(system_, at.x)),
        moves_(n_, false) {
    const auto jacobian = system_.capabilities().jacobian;
    stated_.setZero();
    jacobian->jacobian(at.view(), at.t, stated_, in_time_);
    // Columns far smaller than the others consist of rounding errors.
    smallest_ = 1e-3 * stated_.cwiseAbs().maxCoeff();
    Eigen::MatrixXd elsewhere = Eigen::MatrixXd::Zero(stated_.rows(), stated_.cols());
    std::vector<double> ignored(n_);
    const Point near = shaken(at, subject.options().seed);
    jacobian->jacobian(near.view(), at.t, elsewhere, ignored);
    column_rounding_ = (elsewhere - stated_).cwiseAbs().colwise().maxCoeff();
    const std::vector<double> f_near = rhs_at(system_, near);
    for (std::size_t i = 0; i < n_; ++i)
      rhs_rounding_ = std::max(rhs_rounding_, magnitude(f_near[i] - f_[i]));
  }

  /// Adds the columns and the explicit time derivative.
  void add(Findings& worst) {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < n_; ++i) {
      const auto e = static_cast<Eigen::Index>(i);
      // The derivative along an entry that the regime holds fixed does not exist: states with
      // another value are not in the regime.
      const bool held =
          !at_.regime.empty() && f_[i] == 0 && stated_.row(e).isZero(0) && stated_.col(e).isZero(0);
      columns.push_back(held ? Column{0, kAllowed, false} : column(i));
      subject_.progress().still();
    }
    std::size_t i = 0;
    for (const StateBlock& block : system_.shape().blocks)
      for (std::size_t k = 0; k < block.size; ++k, ++i) {
        // At a kink of the right-hand side the derivative along this entry does not exist. An entry
        // that is at rest, and that no other entry moves, stays there and needs no derivative.
        if (columns[i].kink && !moves_[i] && f_[i] == 0) continue;
        worst.add(columns[i].error, columns[i].allowed,
                  "the column of " + block.name + "[" + std::to_string(k) + "] at " + at_.where);
      }
    add_time(worst);
  }

 private:
  /// Relative error of a column at the best step, and the allowed error there. Differences cannot
  /// resolve columns far below the rounding of the right-hand side. The allowed error includes the
  /// changes of the column and of the right-hand side under perturbed last digits of the state,
  /// because terms may cancel, as near a state of rest.
  struct Column {
    double error, allowed;
    bool kink;  ///< the one-sided slopes differ
  };

  Column column(std::size_t i) {
    const auto e = static_cast<Eigen::Index>(i);
    const Vector still = moved(i, 0);
    Column best = {INFINITY, kAllowed, false};
    // A slope far smaller than those on the way counts as zero, like a column far below the others.
    double smallest = smallest_;
    Vector bend_before = Vector::Constant(still.size(), INFINITY);
    for (const double step : kRelativeSteps) {
      const double h = step * size_[e];
      const Vector forth = moved(i, h), back = moved(i, -h);
      const Vector far_forth = moved(i, 2 * h), far_back = moved(i, -2 * h);
      const Vector difference = (8 * (forth - back) - (far_forth - far_back)) / (12 * h);
      if (step == kRelativeSteps.front())
        smallest = std::max(smallest_, 1e-3 * largest_entry(Vector(far_forth - still)) / (2 * h));
      double unit = std::max(difference.cwiseAbs().maxCoeff(), smallest);
      if (!(unit > 0)) unit = 1;
      const double error = largest_entry(Vector(stated_.col(e) - difference)) / unit;
      const double most =
          std::max({largest_entry(still), largest_entry(far_forth), largest_entry(far_back)});
      const double rounding = std::max(kRounding * most, rhs_rounding_) / h;
      const double can_be = kAllowed + (rounding + column_rounding_[e]) / unit;
      if (error / can_be < best.error / best.allowed) best = {error, can_be, best.kink};
      // Difference of the one-sided slopes of each entry; proportional to the step if a second
      // derivative exists.
      const Vector bend = (forth + back - 2 * still).cwiseAbs() / h;
      best.kink = best.kink ||
                  ((bend.array() > 0.5 * bend_before.array()) && (bend.array() > rounding)).any();
      bend_before = bend;
    }
    return best;
  }

  /// Returns the right-hand side with one entry moved. Records which other entries then move.
  Vector moved(std::size_t i, double step) {
    State y = at_.x;
    y[i] += step;
    std::vector<double> f(n_);
    system_.rhs({y, at_.regime}, at_.t, f);
    for (std::size_t k = 0; k < n_; ++k)
      if (k != i && f[k] != 0) moves_[k] = true;
    return Vector::Map(f.data(), static_cast<Eigen::Index>(n_));
  }

  void add_time(Findings& worst) const {
    const auto at = [&](double t) -> Vector {
      std::vector<double> f(n_);
      system_.rhs(at_.view(), t, f);
      return Vector::Map(f.data(), static_cast<Eigen::Index>(n_));
    };
    const Vector stated = Vector::Map(in_time_.data(), static_cast<Eigen::Index>(n_));
    double best = INFINITY, allowed = kAllowed;
    for (const double step : kRelativeSteps) {
      const double h = step * std::max(at_.t, subject_.window());
      const Vector difference =
          (8 * (at(at_.t + h) - at(at_.t - h)) - (at(at_.t + 2 * h) - at(at_.t - 2 * h))) /
          (12 * h);
      const double most = difference.cwiseAbs().maxCoeff();
      const double unit = std::max(most, 1e-3 * verification::largest(f_));
      const double error = largest_entry(Vector(stated - difference)) / (unit > 0 ? unit : 1);
      // A right-hand side that does not depend on time has no rounding error from it.
      const double can_be =
          kAllowed + (most > 0 ? kRounding * verification::largest(f_) / h / unit : 0);
      if (error / can_be >= best / allowed) continue;
      best = error;
      allowed = can_be;
    }
    worst.add(best, allowed, "the derivative by time at " + at_.where);
  }

  const Subject& subject_;
  const System& system_;
  const Point& at_;
  std::size_t n_;
  Eigen::MatrixXd stated_;
  std::vector<double> in_time_, f_;
  Vector size_;
  Eigen::RowVectorXd column_rounding_;
  double rhs_rounding_ = 0, smallest_ = 0;
  std::vector<bool> moves_;  ///< entries that move when another entry changes
};

}  // namespace

Checks check_gradient(const Subject& subject) {
  Checks checks;
  add_gradient(subject, subject.system(), subject.points(), "gradient", checks);
  const Variant* noisy = subject.noisy();
  if (noisy != nullptr && subject.is_brief() && !subject.noisy_points().empty())
    add_gradient(subject, *noisy->system, {subject.noisy_points().back()}, "gradient, after noise",
                 checks);
  else if (noisy != nullptr && noisy->system->shape().state_size() != subject.size())
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
    return {skipped("Jacobian", "a Jacobian of " + std::to_string(n) +
                                    " columns is too large to check; " + "at most " +
                                    std::to_string(kJacobian) + " columns are checked")};
  Findings worst("the right-hand side");
  for (const Point& point : subject.points()) {
    subject.progress().part(static_cast<double>(&point - subject.points().data()) /
                                static_cast<double>(subject.points().size()),
                            point.where);
    JacobianAt(subject, point).add(worst);
  }
  return {worst.check("Jacobian", "relative error of a column against differences")};
}

Checks check_parts(const Subject& subject) {
  const System& system = subject.system();
  const Capability<Separable> separable = system.capabilities().separable;
  if (!separable) return {};
  constexpr double kOfTheWhole = 1e-12;  // sums may be rounded in a different order
  constexpr std::size_t kPlaces = 7;     // per part
  const std::size_t n = subject.size();
  const std::span<const std::size_t> order = separable->part_order();
  const std::size_t passing = passage_items(system.info(), system.shape());
  Worst worst;
  std::vector<double> whole(n), parts(n), x(kPlaces), values(passing);
  std::vector<double> passages;
  passages.resize(passing / n * kPlaces);  // gcc 14 warns about a constructor call here
  for (const Point& point : subject.points()) {
    system.rhs(point.view(), point.t, whole);
    if (passing > 0) system.capabilities().events->passage_functions(point.view(), point.t, values);
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
      worst.add(parts[place] / divisor - whole[entry], kOfTheWhole * verification::largest(whole),
                "entry " + std::to_string(entry) + " at " + point.where);
    }
  }
  return {worst.check(
      "parts",
      "entries evaluated in parts against the whole, largest difference at " + worst.where())};
}

}  // namespace popflow::verification
