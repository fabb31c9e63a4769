#include "dynamics/joma_joint/sampler.hpp"

#include <utility>

namespace popflow::joma_joint {
namespace {

/// Returns a condition on a batch: that it holds the contexts or would draw them next. With one
/// batch for each of several runs that take turns, every run finds its own.
auto with_contexts(const SampleKey& key, std::size_t number) {
  return [&key, number](const auto& one) {
    return one.contexts().hold(key, number) || one.contexts().precede(key);
  };
}

}  // namespace

Sampler::Sampler(const Problem& problem, AttentionKind kind, double temperature, Outputs outputs,
                 std::int64_t context_length, Workers& workers)
    : law_(problem, context_length),
      outputs_(std::move(outputs)),
      batches_([this, kind, temperature, nodes = problem.nodes(), &workers] {
        const BatchModel model{law_, kind, temperature, outputs_, nodes, workers};
        return law_.dense() ? make_dense_batch(model) : make_sparse_batch(model);
      }),
      steps_([this, &problem, temperature, &workers] {
        return std::make_unique<NoisyStep>(law_, problem.X, problem.p, temperature, workers);
      }) {}

void Sampler::add(const Point& at, const SampleKey& key, std::span<const double> weights,
                  const Velocity& into) const {
  batches_.borrow(with_contexts(key, weights.size()))->add(at, key, weights, into);
}

bool Sampler::step(const Point& at, double h, const SampleKey& key, std::span<const double> weights,
                   const Velocity& x) const {
  const auto step = steps_.borrow(with_contexts(key, weights.size()));
  return (*step)(at, h, key, weights, x);
}

}  // namespace popflow::joma_joint
