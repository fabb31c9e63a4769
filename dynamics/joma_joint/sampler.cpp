#include "dynamics/joma_joint/sampler.hpp"

#include <utility>

namespace popflow::joma_joint {
namespace {

/// Products of whole matrices take this part of the time, per number, of those of single columns.
constexpr std::int64_t kDensity = 2;

}  // namespace

Sampler::Sampler(const Problem& problem, AttentionKind kind, double temperature, Outputs outputs,
                 std::int64_t context_length, Workers& workers)
    : law_(problem, context_length),
      outputs_(std::move(outputs)),
      batches_([this, kind, temperature, nodes = problem.nodes(), &workers] {
        const BatchModel model{law_, kind, temperature, outputs_, nodes, workers};
        const bool dense = law_.tokens() / kDensity <= law_.length();
        return dense ? make_dense_batch(model) : make_sparse_batch(model);
      }) {}

void Sampler::add(const Point& at, const SampleKey& key, std::span<const double> weights,
                  const Velocity& into) const {
  // Of a run whose contexts are at hand, where several take turns.
  const auto batch = batches_.borrow([&](const Batch& one) {
    return one.contexts().hold(key, weights.size()) || one.contexts().precede(key);
  });
  batch->add(at, key, weights, into);
}

}  // namespace popflow::joma_joint
