// Check that samples keep the invariants onto which the noise is projected.

#include <cmath>

#include "verify/checks.hpp"

namespace popflow::verification {

Checks check_projection(const Subject& subject) {
  const Variant* noisy = subject.noisy();
  if (noisy == nullptr) return {};
  const System& system = *noisy->system;
  const Capabilities can = system.capabilities();
  if (!can.noise_projection || !can.sampled) return {};
  // Tolerance for sums over a block that are rounded in a different order. A block that samples do
  // not move has rounding errors of the size of those in the other blocks.
  constexpr double kOfTheBlock = 1e-12;
  constexpr std::uint64_t kPairs = 20;
  Worst worst;
  const std::size_t n = system.shape().state_size();
  std::vector<double> first(n), noise(n), projected(n);
  for (const Point& point : subject.noisy_points()) {
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
      // The difference of two samples is noise without the mean, which a bias may have changed.
      const SampleKey key{subject.options().seed, Purpose::check, 8, 2 * pair};
      const std::vector<double> one = {1}, difference = {1, -1};
      std::fill(first.begin(), first.end(), 0.0);
      std::fill(noise.begin(), noise.end(), 0.0);
      can.sampled->add_sampled(point.view(), point.t, key, one, first);
      can.sampled->add_sampled(point.view(), point.t, key, difference, noise);
      projected = noise;
      can.noise_projection->project_noise(point.view(), projected);
      const double all = std::max(largest(first), largest(noise));
      std::size_t i = 0;
      for (const StateBlock& block : system.shape().blocks) {
        double size = 0, change = 0;
        for (std::size_t k = 0; k < block.size; ++k, ++i) {
          size = std::max({size, std::abs(first[i]), std::abs(noise[i])});
          change = std::max(change, magnitude(projected[i] - noise[i]));
        }
        worst.add(change, kOfTheBlock * size + kRounding * all, block.name + " at " + point.where);
      }
      subject.progress().still();
    }
  }
  return {worst.check(
      "noise projection",
      "change that the projection of noise makes in samples, which keep the invariants; "
      "largest in " +
          worst.where())};
}

}  // namespace popflow::verification
