// Comparison of samples with their declared mean and covariance. Each comparison is one of many
// tests; by the thresholds (Bonferroni), all tests of a check together fail by chance with
// probability at most 1e-6. The seed is fixed.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "numerics/linear_algebra.hpp"
#include "popflow/error.hpp"
#include "statistics/distributions.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

using Vector = Eigen::VectorXd;

constexpr double kErrorRate = 1e-6;
constexpr std::size_t kBatches = 400;
constexpr std::size_t kBriefly = 4;       // samples of a batch in brief checks
constexpr std::size_t kAllEntries = 500;  // up to this state size, every entry is tested
constexpr double kWork = 2e8;             // budget of numbers that samples may touch at a state
// Kurtosis up to which a sum counts as normal. Sums of rare large terms are not normal; projections
// that contain such entries detect them.
constexpr double kNormal = 6;  // kurtosis

/// Means over batches of a vector's entries, with a measure of how normal they are.
class Moments {
 public:
  explicit Moments(Eigen::Index n)
      : mean_(Vector::Zero(n)), second_(mean_), third_(mean_), fourth_(mean_) {}
  /// Updates of central moments (Pebay 2008).
  void add(const Vector& draw) {
    const double before = count_;
    count_ += 1;
    for (Eigen::Index i = 0; i < draw.size(); ++i) {
      const double d = draw[i] - mean_[i], part = d / count_, square = part * part;
      const double term = d * part * before;
      mean_[i] += part;
      fourth_[i] += term * square * (count_ * count_ - 3 * count_ + 3) + 6 * square * second_[i] -
                    4 * part * third_[i];
      third_[i] += term * part * (count_ - 2) - 3 * part * second_[i];
      second_[i] += term;
    }
  }
  [[nodiscard]] double mean(Eigen::Index i) const { return mean_[i]; }
  [[nodiscard]] double error(Eigen::Index i) const {
    return std::sqrt(second_[i] / ((count_ - 1) * count_));
  }
  [[nodiscard]] bool normal(Eigen::Index i) const {
    return count_ * fourth_[i] <= kNormal * second_[i] * second_[i];
  }

 private:
  double count_ = 0;
  Vector mean_, second_, third_, fourth_;
};

/// Random directions, each within one block.
Eigen::MatrixXd projections(const System& system, std::uint64_t seed) {
  constexpr Eigen::Index each = 8;
  const std::vector<StateBlock>& blocks = system.shape().blocks;
  const auto n = static_cast<Eigen::Index>(system.shape().state_size());
  Eigen::MatrixXd directions =
      Eigen::MatrixXd::Zero(n, each * static_cast<Eigen::Index>(blocks.size()));
  RandomStream random(seed, Purpose::check, 2);
  Eigen::Index begin = 0, column = 0;
  for (const StateBlock& block : blocks) {
    const auto length = static_cast<Eigen::Index>(block.size);
    for (Eigen::Index k = 0; k < each; ++k, ++column)
      for (Eigen::Index i = begin; i < begin + length; ++i) directions(i, column) = random.normal();
    begin += length;
  }
  return directions;
}

/// Bound on how much samples too rare to have been drawn can change the mean of an entry, or the
/// mean along a direction within a block. A declared covariance gives the bound: if a fraction p of
/// the samples moves the mean by d, the variance is at least d^2 / p. Without a covariance, rare
/// samples are assumed to move the state as much as the others, relative to each entry's
/// preconditioner.
class RareSamples {
 public:
  RareSamples(const System& system, const Point& point, double share, std::uint64_t seed)
      : share_(share), blocks_(system.shape().blocks) {
    const auto n = static_cast<Eigen::Index>(system.shape().state_size());
    const Capabilities can = system.capabilities();
    if (can.covariance && n <= kMostOfMatrix) {
      covariance_.resize(n, n);
      can.covariance->covariance(point.view(), point.t, covariance_);
      return;
    }
    largest_.assign(blocks_.size(), 0);
    scale_ = Vector::Ones(n);
    if (!can.gradient_flow) return;
    scale_.setZero();
    RandomStream random(seed, Purpose::check, 6);
    constexpr int kTries = 3;  // several, because signs may cancel in a projection
    for (int k = 0; k < kTries; ++k) {
      Vector signs(n);
      for (double& sign : signs) sign = random.normal() < 0 ? -1 : 1;
      can.gradient_flow->precondition(point.view(), {signs.data(), static_cast<std::size_t>(n)});
      scale_ = scale_.cwiseMax(signs.cwiseAbs());
    }
  }
  /// Adds one sample.
  void add(const Vector& sample) {
    Eigen::Index i = 0;
    for (std::size_t b = 0; b < largest_.size(); ++b)
      for (const auto end = i + static_cast<Eigen::Index>(blocks_[b].size); i < end; ++i)
        if (scale_[i] > 0) largest_[b] = std::max(largest_[b], std::abs(sample[i]) / scale_[i]);
  }
  [[nodiscard]] double along(const Vector& direction) const {
    if (covariance_.size() > 0)
      return std::sqrt(share_ / (1 - share_) *
                       std::max(direction.dot(covariance_ * direction), 0.0));
    double most = 0;
    Eigen::Index i = 0;
    for (std::size_t b = 0; b < largest_.size(); ++b)
      for (const auto end = i + static_cast<Eigen::Index>(blocks_[b].size); i < end; ++i)
        most = std::max(most, std::abs(direction[i]) * largest_[b] * scale_[i]);
    return share_ * most;
  }
  /// Returns whether the bound needs single samples.
  [[nodiscard]] bool looks_at_samples() const { return covariance_.size() == 0; }

  static constexpr Eigen::Index kMostOfMatrix = 50;

 private:
  double share_;
  const std::vector<StateBlock>& blocks_;
  Eigen::MatrixXd covariance_;
  Vector scale_;                 ///< scale of each entry, from the preconditioner
  std::vector<double> largest_;  ///< largest move of each block, in units of its entries' scale
};

/// Tests of one check, including inconclusive ones.
class Tests {
 public:
  Tests(double allowed, std::size_t samples) : allowed_(allowed), samples_(samples) {}
  void add(double measured, const std::string& where) {
    ++number_;
    worst_.add(measured, allowed_, where);
  }
  void inconclusive() {
    ++number_;
    ++open_;
  }
  /// `what` is the measured quantity, with the number of tests; `note` has further remarks.
  [[nodiscard]] Check check(const std::string& name, const std::string& what,
                            const std::string& note) const {
    const std::string number = std::to_string(number_), samples = std::to_string(samples_);
    const std::string why = "depend on samples that are too rare to be drawn often enough";
    if (open_ == number_)
      return skipped(
          name, "inconclusive: all " + number + " tests of " + samples + " samples " + why + note);
    const std::string open =
        open_ == 0 ? ""
                   : "; inconclusive: " + std::to_string(open_) + " of the tests, which " + why;
    return worst_.check(name, what + " (" + worst_.where() + ") of " + number + " tests of " +
                                  samples + " samples (larger by chance: 1e-6)" + open + note);
  }

 private:
  double allowed_;
  std::size_t samples_, number_ = 0, open_ = 0;
  Worst worst_;
};

/// `long_contexts`: samples without visible bias may take long to draw.
std::size_t samples_of(const Subject& subject, bool long_contexts) {
  const double usual = long_contexts ? 4'000 : 20'000;
  const double most = subject.options().thorough ? 10 * usual
                      : subject.is_brief()       ? kBriefly * kBatches
                                                 : usual;
  const double fit = kWork * (subject.options().thorough ? 20 : 1) /
                     static_cast<double>(std::max<std::size_t>(subject.size(), 1));
  const double number = std::clamp(fit, 2.0 * kBatches, most);
  return static_cast<std::size_t>(number) / kBatches * kBatches;
}

/// Returns the sampled model with contexts so long that the declared bias is negligible.
Variant without_bias(const Subject& subject, const SamplingBias& bias, std::int64_t length) {
  RunConfig config = subject.noisy()->config;
  config.own.set(bias.length, std::to_string(length), Origin::command_line);
  return subject.make(config, subject.workers());
}

/// `note` has further remarks about the samples.
Check compare_means(const Subject& subject, const System& system, bool long_contexts,
                    const std::string& name, const std::string& note) {
  const Capability<Sampled> sampled = system.capabilities().sampled;
  const std::size_t n = system.shape().state_size();
  const auto length = static_cast<Eigen::Index>(n);
  const Eigen::MatrixXd directions = projections(system, subject.options().seed);
  const bool entries = n <= kAllEntries;
  const std::vector<Point>& points = subject.noisy_points();

  const double tests =
      static_cast<double>(points.size()) *
      (static_cast<double>(directions.cols()) + (entries ? static_cast<double>(n) : 0.0));
  const double allowed = student_upper_quantile(kErrorRate / (2 * tests), kBatches - 1);
  const std::size_t samples = samples_of(subject, long_contexts), batch = samples / kBatches;
  const std::vector<double> weights(batch, 1.0 / static_cast<double>(batch));
  // Events of larger probability occur among the samples, except with a probability of the error
  // rate.
  const double rarest = std::log(tests / kErrorRate) / static_cast<double>(samples);
  if (subject.is_brief()) {
    std::vector<double> out(n);
    const SampleKey key{subject.options().seed, Purpose::check, 3, 0};
    const double seconds = seconds_of(points.front(), [&](const Point& near) {
      sampled->add_sampled(near.view(), near.t, key, weights, out);
    });
    // A second sample of each batch shows how rare large samples are.
    if (2.0 * kBatches * static_cast<double>(points.size()) * seconds > subject.options().within)
      return skipped(name, "samples take too long for the time that checks may take");
  }
  Tests made(allowed, samples);
  for (const Point& point : points) {
    const std::vector<double> numbers = rhs_at(system, point);
    const Eigen::Map<const Vector> f(numbers.data(), length);
    Moments of_entries(entries ? length : 0), of_projections(directions.cols());
    RareSamples rare(system, point, rarest, subject.options().seed);
    Vector v(length);
    for (std::uint64_t b = 0; b < kBatches; ++b) {
      const SampleKey key{subject.options().seed, Purpose::check, 3, batch * b};
      v = -f;  // so that the remainder is small compared with its own rounding
      sampled->add_sampled(point.view(), point.t, key, weights, {v.data(), n});
      if (entries) of_entries.add(v);
      of_projections.add(directions.transpose() * v);
      if (rare.looks_at_samples()) {
        const double one = 1;
        v.setZero();
        sampled->add_sampled(point.view(), point.t, key, {&one, 1}, {v.data(), n});
        rare.add(v);
      }
      subject.progress().still();
    }
    // Terms may also cancel in the right-hand side, so its rounding is measured.
    const std::vector<double> elsewhere = rhs_at(system, shaken(point, subject.options().seed));
    const Vector digits = (Eigen::Map<const Vector>(elsewhere.data(), length) - f).cwiseAbs();
    const double size = std::max(f.cwiseAbs().maxCoeff(), 1e-300);
    const auto look = [&](const Moments& moments, Eigen::Index i, double of, double rounding,
                          const Vector& direction, const std::string& what) {
      const double distance = std::abs(moments.mean(i)) - 1e-12 * of;
      // A quantity that all samples change alike must agree to rounding. The exception is a
      // quantity that samples too rare to be drawn change, for example by as much as the flow moves
      // the state.
      const bool still = moments.error(i) <= 1e-14 * of;
      const double chance = std::max(rare.along(direction), still ? rarest * of : 0.0);
      if (distance <= (still ? rounding : 0))
        made.add(0, what);
      else if (!still && moments.normal(i) && distance <= allowed * moments.error(i))
        made.add(distance / moments.error(i), what);
      else if ((!still && !moments.normal(i)) || distance <= rounding + chance)
        made.inconclusive();
      else
        made.add(still ? INFINITY : distance / moments.error(i), what);
    };
    if (entries)
      for (Eigen::Index i = 0; i < length; ++i)
        look(of_entries, i, size, digits.maxCoeff(), Vector::Unit(length, i),
             "entry " + std::to_string(i) + " at " + point.where);
    for (Eigen::Index i = 0; i < directions.cols(); ++i)
      look(of_projections, i, f.norm(), digits.dot(directions.col(i).cwiseAbs()), directions.col(i),
           "a random direction at " + point.where);
  }
  return made.check(name, "largest distance from the right-hand side in standard errors", note);
}

}  // namespace

Checks check_samples(const Subject& subject) {
  const std::string name = "mean of samples";
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) {
    const Capability<Sampled> here = subject.system().capabilities().sampled;
    if (!here && here.why_not().empty() && subject.why_not_noisy().empty()) return {};
    return {skipped(name, here.why_not().empty() ? subject.why_not_noisy() : here.why_not())};
  }
  const Capabilities can = noisy->system->capabilities();
  if (!can.sampled) {
    if (can.sampled.why_not().empty()) return {};
    return {skipped(name, can.sampled.why_not())};
  }
  const SamplingBias& bias = can.sampling_bias;
  if (bias.why.empty()) return {compare_means(subject, *noisy->system, false, name, "")};
  if (bias.length.empty()) return {skipped(name, "biased: " + bias.why)};
  const auto at = [&](std::int64_t length) {
    return compare_means(
        subject, *without_bias(subject, bias, length).system, true, name,
        "; at --" + bias.length + " " + std::to_string(length) + ", since " + bias.why);
  };
  const Check check = at(bias.enough);
  // Sharp attention needs longer contexts.
  constexpr std::int64_t kLonger = 16;
  return {check.verdict == Check::Verdict::fails ? at(kLonger * bias.enough) : check};
}

/// Checks that the covariance of noise without samples is symmetric and not negative.
Check check_given_covariance(const Subject& subject, const System& system) {
  const std::string name = "covariance";
  const auto n = static_cast<Eigen::Index>(system.shape().state_size());
  constexpr Eigen::Index kMost = 300;
  if (n > kMost)
    return skipped(name, "the eigenvalues of " + std::to_string(n) + " x " + std::to_string(n) +
                             " matrices take too long");
  constexpr double kAllowedDifference = 1e-10;
  Worst worst;
  for (const Point& point : subject.noisy_points()) {
    Eigen::MatrixXd c = Eigen::MatrixXd::Zero(n, n);
    system.capabilities().covariance->covariance(point.view(), point.t, c);
    const double size = std::max(c.cwiseAbs().maxCoeff(), 1e-300);
    worst.add((c - c.transpose()).cwiseAbs().maxCoeff() / size, kAllowedDifference,
              "entries that are not symmetric at " + point.where);
    worst.add(std::max(-symmetric_eigenvalues(c).minCoeff(), 0.0) / size, kAllowedDifference,
              "a negative eigenvalue at " + point.where);
  }
  return worst.check(
      name, "asymmetry and negative eigenvalues, relative to the largest entry; " + worst.where());
}

Checks check_covariance(const Subject& subject) {
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) return {};
  const Capabilities can = noisy->system->capabilities();
  if (!can.covariance) return {};
  const System& system = *noisy->system;
  if (!can.sampled && can.sampled.why_not().empty())
    return {check_given_covariance(subject, system)};
  if (!can.sampled) return {};
  const std::size_t n = system.shape().state_size();
  const std::string name = "covariance";
  if (n > 50)
    return {skipped(
        name, "a covariance matrix of " + std::to_string(n * n) + " entries is too large to test")};
  const auto length = static_cast<Eigen::Index>(n);
  const std::vector<Point>& points = subject.noisy_points();
  const double tests = static_cast<double>(points.size() * n * n);
  const double allowed = student_upper_quantile(kErrorRate / (2 * tests), kBatches - 1);
  const std::size_t samples = samples_of(subject, false), batch = samples / kBatches;
  Tests made(allowed, samples);
  for (const Point& point : points) {
    Eigen::MatrixXd c = Eigen::MatrixXd::Zero(length, length);
    can.covariance->covariance(point.view(), point.t, c);
    const std::vector<double> f = rhs_at(system, point);
    Moments products(length * length);
    Vector v(length);
    const std::vector<double> one = {1.0};
    for (std::uint64_t b = 0; b < kBatches; ++b) {
      Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(length, length);
      for (std::uint64_t i = b * batch; i < (b + 1) * batch; ++i) {
        v = -Eigen::Map<const Vector>(f.data(), length);
        can.sampled->add_sampled(point.view(), point.t,
                                 {subject.options().seed, Purpose::check, 4, i}, one,
                                 {v.data(), n});
        mean += v * v.transpose() / static_cast<double>(batch);
      }
      products.add(mean.reshaped());
    }
    const double rounding = 1e-12 * c.cwiseAbs().maxCoeff();
    const auto still = [&](Eigen::Index i) {
      return products.error(i) <= 1e-14 * c.cwiseAbs().maxCoeff();
    };
    // All samples change such an entry alike although its declared variance is larger: samples too
    // rare to be drawn may account for the variance.
    const auto waits = [&](Eigen::Index i) {
      const Eigen::Index diagonal = i * (length + 1);
      return still(diagonal) && products.mean(diagonal) <= c(i, i) + rounding &&
             !(std::abs(products.mean(diagonal) - c(i, i)) <= rounding);
    };
    for (Eigen::Index i = 0; i < c.size(); ++i) {
      const double distance = std::abs(products.mean(i) - c.reshaped()[i]) - rounding;
      if (distance <= 0)
        made.add(0, point.where);
      else if (waits(i % length) || waits(i / length) || (!still(i) && !products.normal(i)))
        made.inconclusive();
      else
        made.add(still(i) ? INFINITY : distance / products.error(i), point.where);
    }
  }
  return {made.check(name, "largest distance from the second moments in standard errors", "")};
}

}  // namespace popflow::verification
