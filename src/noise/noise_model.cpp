#include "noise/noise_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "machine/streaming.hpp"
#include "noise/normals.hpp"
#include "noise/symmetric_root.hpp"
#include "numerics/linear_algebra.hpp"
#include "random/stream_normals.hpp"
#include "steppers/tolerance.hpp"
#include "training/sampled_gradients.hpp"

namespace popflow {

namespace {

double amplitude(const SdeDriver::Options& o) {
  return std::sqrt(o.learning_rate / static_cast<double>(o.batch_size));
}

/// y += a x
void add_scaled(Workers& workers, double a, const State& x, State& y) {
  in_stretches(workers, x.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) y[i] += a * x[i];
  });
}

/// Adds `a` times the increments of the path's parts to `sum`.
void add_increments(Workers& workers, const SdeDriver::Options& options, const PathStep& step,
                    double a, State& normals, State& sum) {
  const double part = a * std::sqrt(step.h / static_cast<double>(step.parts));
  for (std::int64_t p = 0; p < step.parts; ++p) {
    fill_normals(workers, options.seed, options.run, step.first + static_cast<std::uint64_t>(p),
                 normals);
    add_scaled(workers, part, normals, sum);
  }
}

/// Calls part.write() and prefetches as many numbers from `next` on, because the memory would
/// otherwise be idle while normals are generated.
void write_while_fetching(const NormalPart& part, std::size_t first, std::span<double> out,
                          const double* next) {
  constexpr std::size_t kPiece = 512;  // limits the number of cache lines in flight
  constexpr std::size_t kLine = 8;
  for (std::size_t begin = 0; begin < out.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, out.size() - begin);
    for (std::size_t i = 0; i < count; i += kLine) __builtin_prefetch(next + begin + i, 1);
    part.write(first + begin, out.subspan(begin, count));
  }
}

/// Covariance C = noise_scale^2 I in the flow's own coordinates, projected on the linear
/// invariants.
class Isotropic : public NoiseModel {
 public:
  Isotropic(const System& system, Workers& workers, const SdeDriver::Options& options)
      : projection_(system.capabilities().noise_projection),
        in_place_(system.capabilities().steps_in_place),
        workers_(workers),
        options_(options) {}

  [[nodiscard]] bool additive() const override { return true; }

  void add(StateView x, const PathStep& step, State& out) override {
    sum_.resize(out.size());
    if (step.parts == 1) {
      draw(2 * step.first, sum_);
      finish(x, sum_, std::sqrt(step.h), out);
      return;
    }
    normals_.resize(out.size());
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::int64_t p = 0; p < step.parts; ++p) {
      draw(2 * (step.first + static_cast<std::uint64_t>(p)), normals_);
      add_scaled(workers_, 1, normals_, sum_);
    }
    finish(x, sum_, std::sqrt(step.h / static_cast<double>(step.parts)), out);
  }

  bool step_in_place(const PathStep& step, State& x, const Regime& regime) override {
    if (!in_place_ || step.parts != 1) return false;
    const NormalPart part(options_.seed, options_.run, 2 * step.first);
    const double factor = amplitude(options_) * options_.noise_scale * std::sqrt(step.h);
    const bool in_memory = x.size() >= kStreamFrom;
    const Addend noise = [&](std::size_t begin, bool keeps_sum, std::span<double> out,
                             const double* next) -> Scaled {
      // Each piece is summed while it is in the cache. Pieces start at the boundary of a group of
      // normals.
      constexpr std::size_t kPiece = 1024;
      double sum = 0;
      for (std::size_t i = 0; i < out.size();) {
        const std::size_t end =
            std::min(out.size(), (begin + i) / kPiece * kPiece + kPiece - begin);
        const std::span<double> piece = out.subspan(i, end - i);
        if (in_memory)
          write_while_fetching(part, begin + i, piece, next + i);
        else
          part.write(begin + i, piece);
        if (keeps_sum) sum += sum_of(piece);
        i = end;
      }
      return {factor, -factor * sum / static_cast<double>(out.size())};
    };
    in_place_->step_in_place(x, regime, step.t, step.h, noise);
    return true;
  }

  void add_with_area(StateView x, const PathStep& step, State& out, State& area) override {
    // Over a part of length d with increment w, and with an independent normal u, the integral of
    // W(s) - W(begin) is d/2 (w + sqrt(d/3) u). Each later part starts from the sum of the earlier
    // ones.
    sum_.resize(out.size());
    normals_.resize(out.size());
    areas_.resize(out.size());
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::fill(areas_.begin(), areas_.end(), 0.0);
    const double d = step.h / static_cast<double>(step.parts);
    for (std::int64_t p = 0; p < step.parts; ++p) {
      const std::uint64_t number = step.first + static_cast<std::uint64_t>(p);
      draw(2 * number, normals_);
      add_scaled(workers_, 1, normals_, sum_);
      const double rest = step.h - static_cast<double>(p + 1) * d;
      add_scaled(workers_, std::sqrt(d) * (0.5 * d + rest), normals_, areas_);
      draw(2 * number + 1, normals_);
      add_scaled(workers_, 0.5 * d * std::sqrt(d / 3), normals_, areas_);
    }
    finish(x, sum_, std::sqrt(d), out);
    finish(x, areas_, 1, area);
  }

 private:
  /// Sums in a fixed order in which the additions of eight lanes are independent.
  static double sum_of(std::span<const double> x) {
    double lanes[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= x.size(); i += 8)
      for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += x[i + lane];
    for (; i < x.size(); ++i) lanes[0] += x[i];
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
  }
  void draw(std::uint64_t number, State& out) {
    fill_normals(workers_, options_.seed, options_.run, number, out);
  }
  void finish(StateView x, State& noise, double factor, State& out) {
    if (projection_) projection_->project_noise(x, noise);
    add_scaled(workers_, factor * amplitude(options_) * options_.noise_scale, noise, out);
  }

  Capability<NoiseProjection> projection_;
  Capability<StepsInPlace> in_place_;
  Workers& workers_;
  SdeDriver::Options options_;
  State normals_, sum_, areas_;  ///< allocated when needed
};

/// Base of the models that sample. Each interval of length eta has M fresh samples, which stay
/// fixed within the interval, so that refining a path keeps its covariance.
class Sampling : public NoiseModel {
 public:
  Sampling(const System& system, Workers& workers, const SdeDriver::Options& options)
      : sampled_(system.capabilities().sampled),
        workers_(workers),
        options_(options),
        samples_(static_cast<std::size_t>(options.noise_samples)) {}
  [[nodiscard]] std::int64_t samples() const override { return drawn_; }
  void set_samples(std::int64_t samples) override { drawn_ = samples; }

 protected:
  [[nodiscard]] SampleKey key(const PathStep& step) const {
    const double stretch = std::floor(step.t / options_.learning_rate + 1e-6);
    return {options_.seed,
            Purpose::bootstrap,
            options_.run,
            static_cast<std::uint64_t>(stretch) * samples_,
            {static_cast<std::uint64_t>(stretch), options_.learning_rate, options_.batch_size}};
  }
  Capability<Sampled> sampled_;
  Workers& workers_;
  SdeDriver::Options options_;
  std::size_t samples_;
  std::int64_t drawn_ = 0;
};

/// Noise with the covariance that the System declares, or with its diagonal.
class ExactNoise : public NoiseModel {
 public:
  ExactNoise(const System& system, Workers& workers, const SdeDriver::Options& options,
             bool diagonal)
      : diagonal_(diagonal),
        exact_(system.capabilities().covariance),
        projection_(system.capabilities().noise_projection),
        workers_(workers),
        options_(options),
        normals_(system.shape().state_size()),
        sum_(normals_.size()),
        covariance_(static_cast<Eigen::Index>(normals_.size()),
                    static_cast<Eigen::Index>(normals_.size())) {}

  void add(StateView x, const PathStep& step, State& out) override {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    add_increments(workers_, options_, step, amplitude(options_), normals_, sum_);
    exact_->covariance(x, step.t, covariance_);
    const auto size = static_cast<Eigen::Index>(out.size());
    const Eigen::Map<const Eigen::VectorXd> increment(sum_.data(), size);
    Eigen::Map<Eigen::VectorXd> result(out.data(), size);
    if (diagonal_) {
      for (std::size_t i = 0; i < sum_.size(); ++i)
        sum_[i] *= std::sqrt(std::max(covariance_.diagonal()[static_cast<Eigen::Index>(i)], 0.0));
      if (projection_) projection_->project_noise(x, sum_);
      result += increment;
      return;
    }
    // The symmetric root allows a singular covariance. A non-finite covariance gives non-finite
    // noise, which the driver detects.
    if (!covariance_.allFinite()) {
      result += covariance_ * increment;
      return;
    }
    // Matrices of compile-time size need no heap allocation, which would dominate the cost.
    if (size == 2) {
      result += symmetric_root(covariance_) * increment;
      return;
    }
    if (size == 3) {
      result += symmetric_root_times(covariance_, increment);
      return;
    }
    const auto [eigenvalues, eigenvectors] = symmetric_eigen(covariance_);
    // Directions without noise have eigenvalues at rounding level; the roots of these would add
    // noise of 1e-8.
    const double rounding = 16 * static_cast<double>(size) *
                            std::numeric_limits<double>::epsilon() *
                            eigenvalues.cwiseAbs().maxCoeff();
    const Eigen::VectorXd roots =
        (eigenvalues.array() > rounding).select(eigenvalues.cwiseMax(0).cwiseSqrt(), 0);
    const Eigen::VectorXd along = eigenvectors.transpose() * increment;
    result += eigenvectors * roots.cwiseProduct(along);
  }

 private:
  bool diagonal_;
  Capability<Covariance> exact_;
  Capability<NoiseProjection> projection_;
  Workers& workers_;
  SdeDriver::Options options_;
  State normals_, sum_;
  Eigen::MatrixXd covariance_;
};

/// Covariance of M sampled gradients, by the multiplier bootstrap: (M-1)^(-1/2) sum_i zeta_i (g_i -
/// mean g) = (M-1)^(-1/2) sum_i (zeta_i - mean zeta) g_i.
class BatchNoise : public Sampling {
 public:
  BatchNoise(const System& system, Workers& workers, const SdeDriver::Options& options)
      : Sampling(system, workers, options),
        steps_(system.capabilities().sampled_steps),
        weights_(samples_),
        normals_(samples_) {}

  void add(StateView x, const PathStep& step, State& out) override {
    draw_weights(step);
    sampled_->add_sampled(x, step.t, key(step), weights_, out);
    drawn_ += static_cast<std::int64_t>(samples_);
  }

  bool step_in_place(const PathStep& step, State& x, const Regime& /*regime*/) override {
    if (!steps_) return false;
    draw_weights(step);
    if (!steps_->step_sampled(x, step.t, step.h, key(step), weights_)) return false;
    drawn_ += static_cast<std::int64_t>(samples_);
    return true;
  }

 private:
  void draw_weights(const PathStep& step) {
    std::fill(weights_.begin(), weights_.end(), 0.0);
    for (std::int64_t p = 0; p < step.parts; ++p) {
      write_stream_normals(
          {options_.seed, Purpose::noise, options_.run, step.first + static_cast<std::uint64_t>(p)},
          normals_);
      for (std::size_t i = 0; i < samples_; ++i) weights_[i] += normals_[i];
    }
    double mean = 0;
    for (const double weight : weights_) mean += weight;
    mean /= static_cast<double>(samples_);
    const double scale = amplitude(options_) * std::sqrt(step.h / static_cast<double>(step.parts) /
                                                         static_cast<double>(samples_ - 1));
    for (double& weight : weights_) weight = scale * (weight - mean);
  }

  Capability<SampledSteps> steps_;
  std::vector<double> weights_, normals_;
};

/// Diagonal covariance: the variances of M sampled gradients. The full gradient of each sample is
/// formed separately, in M passes over the state.
class DiagonalNoise : public Sampling {
 public:
  DiagonalNoise(const System& system, Workers& workers, const SdeDriver::Options& options)
      : Sampling(system, workers, options),
        projection_(system.capabilities().noise_projection),
        gradient_(system.shape().state_size()),
        mean_(gradient_.size()),
        squares_(gradient_.size()) {}

  void add(StateView x, const PathStep& step, State& out) override {
    sum_squares(sampled_, x, step.t, key(step), samples_, gradient_, mean_, squares_);
    drawn_ += static_cast<std::int64_t>(samples_);
    std::fill(mean_.begin(), mean_.end(), 0.0);
    add_increments(workers_, options_, step,
                   amplitude(options_) / std::sqrt(static_cast<double>(samples_ - 1)), gradient_,
                   mean_);
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] *= std::sqrt(squares_[j]);
    if (projection_) projection_->project_noise(x, mean_);
    for (std::size_t j = 0; j < mean_.size(); ++j) out[j] += mean_[j];
  }

 private:
  Capability<NoiseProjection> projection_;
  State gradient_, mean_, squares_;
};

}  // namespace

void NoiseModel::add_with_area(StateView /*x*/, const PathStep& /*step*/, State& /*out*/,
                               State& /*area*/) {
  throw std::logic_error("add_with_area() needs additive noise");
}

namespace {

template <class Model, class... More>
std::unique_ptr<NoiseModel> made(const System& system, Workers& workers,
                                 const SdeDriver::Options& options, More... more) {
  return std::make_unique<Model>(system, workers, options, more...);
}

}  // namespace

std::unique_ptr<NoiseModel> make_exact_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options) {
  return made<ExactNoise>(system, workers, options, false);
}
std::unique_ptr<NoiseModel> make_exact_diagonal_noise(const System& system, Workers& workers,
                                                      const SdeDriver::Options& options) {
  return made<ExactNoise>(system, workers, options, true);
}
std::unique_ptr<NoiseModel> make_batch_noise(const System& system, Workers& workers,
                                             const SdeDriver::Options& options) {
  return made<BatchNoise>(system, workers, options);
}
std::unique_ptr<NoiseModel> make_diagonal_noise(const System& system, Workers& workers,
                                                const SdeDriver::Options& options) {
  return made<DiagonalNoise>(system, workers, options);
}
std::unique_ptr<NoiseModel> make_isotropic_noise(const System& system, Workers& workers,
                                                 const SdeDriver::Options& options) {
  return made<Isotropic>(system, workers, options);
}

}  // namespace popflow
