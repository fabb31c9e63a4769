#include <optional>

#include "dynamics/joma_joint/batch.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

/// Stores contexts as rows of a matrix, like those of classes, and uses the flow of a problem with
/// these contexts.
class DenseBatch : public Batch {
 public:
  explicit DenseBatch(const BatchModel& model) : Batch(model.law, model.workers), model_(model) {}

 private:
  void take(const Contexts& contexts, std::size_t number) override;
  void add(const Point& at, std::span<const double> weights, const Velocity& into) override;

  /// h and related arrays for contexts treated together: K x contexts.
  struct Heads {
    Eigen::MatrixXd h, phi, slope, g;
  };

  BatchModel model_;
  std::optional<Attention> attention_;
  std::vector<std::uint32_t> classes_;
  Eigen::MatrixXd w_;  ///< weight g phi', K x samples
  ScratchPool<Heads> heads_;
};

void DenseBatch::take(const Contexts& contexts, std::size_t number) {
  const auto samples = static_cast<Index>(number);
  if (classes_.size() != number) {
    attention_.emplace(Eigen::MatrixXd(samples, model_.law.tokens()), model_.kind,
                       model_.temperature, model_.nodes, model_.workers);
    classes_.resize(number);
    w_.resize(model_.nodes, samples);
  }
  Eigen::MatrixXd& shares = attention_->contexts();
  shares.setZero();
  for (std::size_t i = 0; i < number; ++i) {
    const Contexts::Sample sample = contexts.sample(i);
    classes_[i] = sample.of_class;
    for (std::size_t j = 0; j < sample.tokens.size(); ++j)
      shares(static_cast<Index>(i), sample.tokens[j]) = sample.shares[j];
  }
}

void DenseBatch::add(const Point& at, std::span<const double> weights, const Velocity& into) {
  attention_->forward(at.V, at.z, [&](Index first, Index count) {
    const auto loan = heads_.borrow();
    Heads& heads = *loan;
    if (heads.h.cols() < count)
      for (Eigen::MatrixXd* matrix : {&heads.h, &heads.phi, &heads.slope, &heads.g})
        matrix->resize(model_.nodes, count);
    model_.outputs.weigh(count, classes_.data() + first, weights.data() + first,
                         attention_->products().col(first).data(), at.r.data(),
                         {heads.h.data(), heads.phi.data(), heads.slope.data(), heads.g.data(),
                          w_.col(first).data()});
    attention_->weigh(w_, first, count);
  });
  attention_->add_backward(at.V, w_, into.V, into.r, into.z);
}

}  // namespace

std::unique_ptr<Batch> make_dense_batch(const BatchModel& model) {
  return std::make_unique<DenseBatch>(model);
}

}  // namespace popflow::joma_joint
