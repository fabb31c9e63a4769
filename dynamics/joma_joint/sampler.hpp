#pragma once

#include <span>

#include "dynamics/joma_joint/batch.hpp"
#include "dynamics/joma_joint/noisy_step.hpp"
#include "popflow/random.hpp"
#include "popflow/scratch.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma_joint {

/// Sampled model: minus the gradient of a class's loss at the token frequencies of a drawn context.
class Sampler {
 public:
  /// The problem must outlive the sampler.
  Sampler(const Problem& problem, AttentionKind kind, double temperature, Outputs outputs,
          std::int64_t context_length, Workers& workers);

  /// Adds sum_i weights[i] v_i for the samples i of `key`. `into` may be the point itself. A sharp
  /// relu has phi'(0) = 0; sides are ignored. Bit-for-bit identical for any number of threads and
  /// any previous calls.
  void add(const Point& at, const SampleKey& key, std::span<const double> weights,
           const Velocity& into) const;

  /// x += h f(x) + the sum of add(), where f is the flow. Only for dense contexts of sizes that a
  /// NoisyStep supports. Returns false if the step is not possible at this state.
  bool step(const Point& at, double h, const SampleKey& key, std::span<const double> weights,
            const Velocity& x) const;

 private:
  ContextLaw law_;
  Outputs outputs_;
  mutable ScratchPool<Batch> batches_;
  mutable ScratchPool<NoisyStep> steps_;
};

}  // namespace popflow::joma_joint
