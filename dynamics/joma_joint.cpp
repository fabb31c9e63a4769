#include "dynamics/joma_joint.hpp"

#include "dynamics/joma_joint/system.hpp"
#include "popflow/error.hpp"

namespace popflow::joma_joint {

namespace {

Variant variant_of(const Parameters& own, bool noisy) {
  Variant variant;
  const std::string& attention = own.word("attention");
  variant.attention = attention == "linear" ? AttentionKind::linear
                      : attention == "exp"  ? AttentionKind::exponential
                                            : AttentionKind::softmax;
  const std::string& activation = own.word("activation");
  variant.activation = activation == "relu"     ? Activation::relu
                       : activation == "square" ? Activation::square
                       : activation == "gelu"   ? Activation::gelu
                       : activation == "silu"   ? Activation::silu
                       : activation == "tanh"   ? Activation::tanh
                                                : Activation::identity;
  variant.backprop =
      own.word("backprop") == "stationary" ? Backprop::stationary : Backprop::cross_entropy;
  variant.temperature = own.real("temperature");
  variant.smoothing = own.real("relu-smoothing");
  variant.integrated = own.word("coordinates") == "integrated";
  variant.noisy = noisy;
  variant.context_length = own.integer("context-length");
  return variant;
}

/// Start of a run that continues from another run's last state.
Start start_of(const LastState& last) {
  const auto& source = dynamic_cast<const JomaJoint&>(*last.system);
  const Eigen::Index K = source.data().nodes();
  const Eigen::Index M = source.data().tokens();
  return {Eigen::Map<const Eigen::MatrixXd>(last.x.data(), K, M),
          Eigen::Map<const Eigen::VectorXd>(last.x.data() + K * M, K), source.logits(last.view())};
}

}  // namespace

std::unique_ptr<System> make(const Ingredients& from) {
  const Variant variant = variant_of(from.own, from.setting.noisy);
  Problem problem = make_problem(from);
  if (from.setting.start == nullptr)
    return std::make_unique<JomaJoint>(std::move(problem), variant, from.workers);

  const Start start = start_of(*from.setting.start);
  const auto words = [](Eigen::Index tokens, Eigen::Index nodes) {
    return std::to_string(tokens) + " tokens and " + std::to_string(nodes) + " nodes";
  };
  if (start.V.rows() != problem.nodes() || start.V.cols() != problem.tokens())
    throw InputError("--init-from " + from.setting.start->path + " has " +
                     words(start.V.cols(), start.V.rows()) + "; this problem has " +
                     words(problem.tokens(), problem.nodes()));
  problem.start = start;
  return std::make_unique<JomaJoint>(std::move(problem), variant, from.workers);
}

}  // namespace popflow::joma_joint
