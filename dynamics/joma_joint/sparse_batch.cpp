#include <algorithm>

#include "dynamics/common/products.hpp"
#include "dynamics/joma_joint/batch.hpp"
#include "dynamics/joma_joint/kernels.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Task sizes. They are constants, so that sums have the same order for any number of threads.
constexpr std::size_t kSamples = 8;  ///< samples per task
constexpr Index kTokensOfTask = 32;  ///< tokens per summation task

/// Stores the entries (sample, token) of a batch's contexts, sample by sample and token by token.
class SparseBatch : public Batch {
 public:
  explicit SparseBatch(const BatchModel& model)
      : Batch(model.law, model.workers),
        model_(model),
        w_(model.nodes, 0),
        offset_(to_size(model.law.tokens()) + 1) {}

 private:
  void take(const Contexts& contexts, std::size_t number) override;
  void add(const Point& at, std::span<const double> weights, const Velocity& into) override;

  /// Scratch memory for one sample, or one token.
  struct Task {
    std::vector<double> z, gains;
    Eigen::VectorXd sum, h, phi, slope, g;
  };
  void forward(const Point& at, double weight, std::size_t i, Task& task);
  void backward(const Point& at, Index first, const Velocity& into, Task& task) const;

  BatchModel model_;
  const Contexts* contexts_ = nullptr;
  Eigen::MatrixXd w_;  ///< weight g phi', K x samples
  Eigen::VectorXd s_;  ///< w' (h - r)
  // Token by token, with samples in order: entry j of sample i is number place_[i][j].
  std::vector<std::size_t> offset_;
  std::vector<std::size_t> first_;  ///< index of a sample's first entry among all
  std::vector<std::size_t> place_;
  std::vector<std::uint32_t> sample_of_;
  std::vector<double> value_of_;  ///< b_l or, with linear attention, the frequency of the token
  ScratchPool<Task> tasks_;
};

void SparseBatch::take(const Contexts& contexts, std::size_t number) {
  contexts_ = &contexts;
  if (w_.cols() != static_cast<Index>(number)) {
    w_.resize(model_.nodes, static_cast<Index>(number));
    s_.resize(static_cast<Index>(number));
  }
  first_.assign(1, 0);
  std::fill(offset_.begin(), offset_.end(), std::size_t{0});
  for (std::size_t i = 0; i < number; ++i) {
    const Contexts::Sample sample = contexts.sample(i);
    for (const std::uint32_t token : sample.tokens) ++offset_[token];
    first_.push_back(first_.back() + sample.tokens.size());
  }
  // Turns counts into ends; filling from the back then turns the ends into starts.
  for (std::size_t l = 1; l < offset_.size(); ++l) offset_[l] += offset_[l - 1];
  if (place_.size() < first_.back()) {
    place_.resize(first_.back());
    sample_of_.resize(first_.back());
    value_of_.resize(first_.back());
  }
  for (std::size_t i = number; i-- > 0;) {
    const Contexts::Sample sample = contexts.sample(i);
    for (std::size_t j = 0; j < sample.tokens.size(); ++j) {
      const std::size_t place = --offset_[sample.tokens[j]];
      place_[first_[i] + j] = place;
      sample_of_[place] = static_cast<std::uint32_t>(i);
    }
  }
}

void SparseBatch::forward(const Point& at, double weight, std::size_t i, Task& task) {
  const Contexts::Sample sample = contexts_->sample(i);
  const std::size_t size = sample.tokens.size();
  const std::size_t nodes = to_size(model_.nodes);
  if (task.gains.size() < size) task.gains.resize(size);
  if (task.z.size() < size) task.z.resize(size);
  double* const b = task.gains.data();
  double* const z = task.z.data();
  for (std::size_t j = 0; j < size; ++j) z[j] = at.z[sample.tokens[j]];
  if (model_.kind != AttentionKind::linear) {
    const bool softmax = model_.kind == AttentionKind::softmax;
    kernels::exponentials(size, softmax ? *std::max_element(z, z + size) : 0.0, model_.temperature,
                          z, b);
    const double scale = softmax ? 1 / kernels::dot(size, b, sample.shares.data()) : 1.0;
    for (std::size_t j = 0; j < size; ++j) b[j] *= scale * sample.shares[j];
    for (std::size_t j = 0; j < size; ++j) value_of_[place_[first_[i] + j]] = b[j];
  } else {
    for (std::size_t j = 0; j < size; ++j) value_of_[place_[first_[i] + j]] = sample.shares[j];
    for (std::size_t j = 0; j < size; ++j) b[j] = z[j] * sample.shares[j];
  }

  for (Eigen::VectorXd* numbers : {&task.sum, &task.h, &task.phi, &task.slope, &task.g})
    numbers->resize(model_.nodes);
  sum_columns(nodes, size, sample.tokens.data(), b, {at.V.data(), nodes}, task.sum.data());
  double* const w = w_.col(static_cast<Index>(i)).data();
  model_.outputs.weigh(1, &sample.of_class, &weight, task.sum.data(), at.r.data(),
                       {task.h.data(), task.phi.data(), task.slope.data(), task.g.data(), w});
  s_[static_cast<Index>(i)] = kernels::dot(nodes, w, task.sum.data());
}

void SparseBatch::backward(const Point& at, Index first, const Velocity& into, Task& task) const {
  const std::size_t nodes = to_size(model_.nodes);
  Eigen::VectorXd& sum = task.sum;
  sum.resize(model_.nodes);
  for (Index l = first; l < std::min(first + kTokensOfTask, model_.law.tokens()); ++l) {
    const std::size_t begin = offset_[to_size(l)];
    const std::size_t end = offset_[to_size(l) + 1];
    if (begin == end) continue;
    sum_columns(nodes, end - begin, sample_of_.data() + begin, value_of_.data() + begin,
                {w_.data(), nodes}, sum.data());
    double along = kernels::dot(nodes, at.V.col(l).data(), sum.data());
    const bool linear = model_.kind == AttentionKind::linear;
    kernels::add_scaled(nodes, linear ? at.z[l] : 1.0, sum.data(), into.V + l * model_.nodes);
    if (model_.kind == AttentionKind::softmax) {
      double mean = 0;  // mean of v_l' w over the tokens of each context
      for (std::size_t j = begin; j < end; ++j) mean += value_of_[j] * s_[sample_of_[j]];
      along -= mean;
    }
    into.z[l] += linear ? along : along / model_.temperature;
  }
}

void SparseBatch::add(const Point& at, std::span<const double> weights, const Velocity& into) {
  const std::size_t samples = weights.size();
  const std::size_t work = first_.back() * to_size(model_.nodes);
  model_.workers.run((samples + kSamples - 1) / kSamples, work, [&](std::size_t task) {
    const auto in = tasks_.borrow();
    const std::size_t end = std::min(samples, (task + 1) * kSamples);
    for (std::size_t i = task * kSamples; i < end; ++i) forward(at, weights[i], i, *in);
  });
  const Index tokens = model_.law.tokens();
  model_.workers.run(to_size((tokens + kTokensOfTask - 1) / kTokensOfTask), work,
                     [&](std::size_t task) {
                       const auto in = tasks_.borrow();
                       backward(at, static_cast<Index>(task) * kTokensOfTask, into, *in);
                     });
  for (std::size_t i = 0; i < samples; ++i)
    kernels::add_scaled(to_size(model_.nodes), 1, w_.col(static_cast<Index>(i)).data(), into.r);
}

}  // namespace

std::unique_ptr<Batch> make_sparse_batch(const BatchModel& model) {
  return std::make_unique<SparseBatch>(model);
}

}  // namespace popflow::joma_joint
