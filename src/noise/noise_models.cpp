#include "noise/noise_models.hpp"

#include <array>

#include "noise/samples.hpp"
#include "noise/trained_noise.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "text/text.hpp"
#include "training/sampled_gradients.hpp"

namespace popflow {

namespace {

constexpr std::array kKinds = {
    NoiseKind{.name = "batch",
              .meaning = "that of sampled gradients",
              .of_gradients = true,
              .has_lanes = true,
              .make_exact = make_exact_noise,
              .make = make_batch_noise},
    NoiseKind{.name = "diagonal",
              .meaning = "the variances of sampled gradients only",
              .of_gradients = true,
              .make_exact = make_exact_diagonal_noise,
              .make = make_diagonal_noise},
    NoiseKind{.name = "isotropic",
              .meaning = "noise-scale^2 times the identity",
              .make = make_isotropic_noise},
};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const NoiseKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace

std::span<const NoiseKind> noise_kinds() { return kKinds; }

const NoiseKind& noise_kind(std::string_view name) {
  for (const NoiseKind& kind : kKinds)
    if (kind.name == name) return kind;
  throw UsageError("--noise is " + std::string(name) + "; it must be " + text::one_of(all_names()));
}

std::vector<std::string> noises_of_gradients(bool are) {
  std::vector<std::string> names;
  for (const NoiseKind& kind : kKinds)
    if (kind.of_gradients == are) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<NoiseModel> make_noise(const System& system, Workers& workers,
                                       const SdeDriver::Options& options) {
  const Capabilities can = system.capabilities();
  if (can.training) return make_trained_noise(system, workers, options);
  if (!can.no_noise.empty()) throw UsageError("--mode sde: " + can.no_noise);
  const NoiseKind& kind = *options.noise;
  if (!kind.of_gradients) return kind.make(system, workers, options);
  if (can.covariance) return kind.make_exact(system, workers, options);
  if (!can.sampled)
    throw UsageError("--noise " + std::string(kind.name) + ": " + why_no_samples(system) +
                     "; --noise " + text::one_of(noises_of_gradients(false)) + " works");
  if (options.noise_samples < 2)
    throw UsageError("--noise-samples is " + std::to_string(options.noise_samples) +
                     "; a covariance needs at least 2 samples");
  require_memory(
      numbers_of_sample(system) * static_cast<double>(options.noise_samples),
      "--noise-samples " + std::to_string(options.noise_samples) + " (by default the batch size)");
  return kind.make(system, workers, options);
}

}  // namespace popflow
