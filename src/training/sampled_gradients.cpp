#include "training/sampled_gradients.hpp"

#include <algorithm>

namespace popflow {

void sum_squares(const Capability<Sampled>& sampled, StateView x, double t, SampleKey first,
                 std::size_t count, std::span<double> gradient, std::span<double> mean,
                 std::span<double> squares) {
  std::fill(mean.begin(), mean.end(), 0.0);
  std::fill(squares.begin(), squares.end(), 0.0);
  const double whole = 1;
  for (std::size_t i = 0; i < count; ++i, ++first.first) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    sampled->add_sampled(x, t, first, {&whole, 1}, gradient);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      const double before = gradient[j] - mean[j];
      mean[j] += before / static_cast<double>(i + 1);
      squares[j] += before * (gradient[j] - mean[j]);
    }
  }
}

std::string why_no_samples(const System& system) {
  const Capability<Sampled> sampled = system.capabilities().sampled;
  return sampled.why_not().empty() ? system.info().name + " has no sampled model"
                                   : sampled.why_not();
}

}  // namespace popflow
