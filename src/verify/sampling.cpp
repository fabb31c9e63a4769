// Samples against what they are declared to have for mean and covariance. Every statement is one of
// many tests; their thresholds are such that one of all of a check's is passed by chance with
// probability 1e-6 (Bonferroni), the seed being fixed.

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "popflow/error.hpp"
#include "verify/checks.hpp"

namespace popflow::verification {

namespace {

using Vector = Eigen::VectorXd;

constexpr double kErrorRate = 1e-6;
constexpr std::size_t kBatches = 400;
constexpr std::size_t kAllEntries = 500;  // states up to this size: every entry by itself
constexpr double kWork = 2e8;             // numbers that samples may touch at a state
// Sums of rare large terms are not normal; projections see the entries that are such.
constexpr double kNormal = 6;  // kurtosis

/// Means of batches of a vector's entries, with what tells how normal they are.
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

/// `long_contexts`: samples that no bias is seen in may take long to draw.
std::size_t samples_of(const Subject& subject, bool long_contexts) {
  const double usual = long_contexts ? 4'000 : 20'000;
  const double most = subject.options().thorough ? 10 * usual : usual;
  const double fit = kWork * (subject.options().thorough ? 20 : 1) /
                     static_cast<double>(std::max<std::size_t>(subject.size(), 1));
  const double number = std::clamp(fit, 2.0 * kBatches, most);
  return static_cast<std::size_t>(number) / kBatches * kBatches;
}

/// The sampled model with contexts so long that the declared bias is not seen.
Variant without_bias(const Subject& subject, const SamplingBias& bias, std::int64_t length) {
  RunConfig config = subject.noisy()->config;
  config.own.set(bias.length, std::to_string(length), Origin::command_line);
  return subject.make(config, subject.workers());
}

/// `note`: what else there is to say of the samples.
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
  const double allowed = boost::math::quantile(boost::math::complement(
      boost::math::students_t(static_cast<double>(kBatches - 1)), kErrorRate / (2 * tests)));
  const std::size_t samples = samples_of(subject, long_contexts), batch = samples / kBatches;
  const std::vector<double> weights(batch, 1.0 / static_cast<double>(batch));
  // What happens with a larger probability is among the samples, but for the error rate.
  const double rarest = std::log(tests / kErrorRate) / static_cast<double>(samples);
  Worst worst;
  for (const Point& point : points) {
    const std::vector<double> numbers = rhs_at(system, point);
    const Eigen::Map<const Vector> f(numbers.data(), length);
    Moments of_entries(entries ? length : 0), of_projections(directions.cols());
    Vector v(length);
    for (std::uint64_t b = 0; b < kBatches; ++b) {
      v = -f;  // so that what is left is small next to its own rounding
      sampled->add_sampled(point.view(), point.t,
                           {subject.options().seed, Purpose::check, 3, batch * b}, weights,
                           {v.data(), n});
      if (entries) of_entries.add(v);
      of_projections.add(directions.transpose() * v);
      subject.progress().still();
    }
    // Rounding is of terms that may cancel in the right-hand side, too.
    const std::vector<double> elsewhere = rhs_at(system, shaken(point, subject.options().seed));
    const Vector digits = (Eigen::Map<const Vector>(elsewhere.data(), length) - f).cwiseAbs();
    const double size = std::max(f.cwiseAbs().maxCoeff(), 1e-300);
    const auto look = [&](const Moments& moments, Eigen::Index i, double of, double rounding,
                          const std::string& what) {
      const double distance = std::abs(moments.mean(i)) - 1e-12 * of;
      // What all samples leave alone agrees to rounding, unless samples too rare to be among these
      // move it: by as much as the flow moves the state, say.
      const bool still = moments.error(i) <= 1e-14 * of;
      if (distance <= 0 || (still && distance <= rounding + rarest * of))
        worst.add(0, allowed, what);
      else if (still)
        worst.add(INFINITY, allowed, what);
      else if (moments.normal(i))
        worst.add(distance / moments.error(i), allowed, what);
    };
    if (entries)
      for (Eigen::Index i = 0; i < length; ++i)
        look(of_entries, i, size, digits.maxCoeff(),
             "entry " + std::to_string(i) + " at " + point.where);
    for (Eigen::Index i = 0; i < directions.cols(); ++i)
      look(of_projections, i, f.norm(), digits.dot(directions.col(i).cwiseAbs()),
           "a random direction at " + point.where);
  }
  return worst.check(name, "standard errors from the right-hand side, the most (" + worst.where() +
                               ") of " + std::to_string(static_cast<std::int64_t>(tests)) +
                               " tests of " + std::to_string(samples) +
                               " samples (by chance above: 1e-6)" + note);
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
  // Where the attention is sharp it takes longer ones.
  constexpr std::int64_t kLonger = 16;
  return {check.verdict == Check::Verdict::fails ? at(kLonger * bias.enough) : check};
}

Checks check_covariance(const Subject& subject) {
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) return {};
  const Capabilities can = noisy->system->capabilities();
  if (!can.covariance || !can.sampled) return {};
  const System& system = *noisy->system;
  const std::size_t n = system.shape().state_size();
  const std::string name = "covariance";
  if (n > 50) return {skipped(name, "a matrix of " + std::to_string(n * n) + " tests is too many")};
  const auto length = static_cast<Eigen::Index>(n);
  const std::vector<Point>& points = subject.noisy_points();
  const double tests = static_cast<double>(points.size() * n * n);
  const double allowed = boost::math::quantile(
      boost::math::complement(boost::math::normal(), kErrorRate / (2 * tests)));
  const std::size_t samples = samples_of(subject, false);
  Worst worst;
  for (const Point& point : points) {
    Eigen::MatrixXd c = Eigen::MatrixXd::Zero(length, length);
    can.covariance->covariance(point.view(), point.t, c);
    const std::vector<double> f = rhs_at(system, point);
    Moments products(length * length);
    Vector v(length);
    const std::vector<double> one = {1.0};
    for (std::uint64_t i = 0; i < samples; ++i) {
      v = -Eigen::Map<const Vector>(f.data(), length);
      can.sampled->add_sampled(point.view(), point.t,
                               {subject.options().seed, Purpose::check, 4, i}, one, {v.data(), n});
      products.add((v * v.transpose()).reshaped());
    }
    const double rounding = 1e-12 * c.cwiseAbs().maxCoeff();
    for (Eigen::Index i = 0; i < c.size(); ++i) {
      const double distance = std::abs(products.mean(i) - c.reshaped()[i]) - rounding;
      worst.add(distance <= 0 ? 0 : distance / products.error(i), allowed, point.where);
    }
  }
  return {worst.check(name, "standard errors from the second moments of " +
                                std::to_string(samples) + " samples, the most of " +
                                std::to_string(static_cast<std::int64_t>(tests)) +
                                " tests (by chance above: 1e-6)")};
}

}  // namespace popflow::verification
