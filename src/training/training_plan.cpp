#include "training/training_plan.hpp"

#include "popflow/error.hpp"
#include "popflow/math.hpp"

namespace popflow {

void interpolate_by_svag(TrainingPlan& plan, std::int64_t l) {
  if (l < 2) return;
  const bool plain = plan.rule == &update_rules().front();
  if (plan.clip_norm > 0)
    throw UsageError("--svag: clipped steps do not converge to an SDE; leave out --clip-norm");
  if (!plain && plan.rule != &update_rule("momentum"))
    throw UsageError("--svag is available for --optimizer sgd and momentum, not " +
                     std::string(plan.rule->name) +
                     ", because its steps do not converge to its SDE; use --svag 1");
  if (plain) return;
  const double beta = math::pow(plan.numbers.beta1, 1 / static_cast<double>(l));
  plan.step_factor = (1 - beta) / (1 - plan.numbers.beta1);
  plan.numbers.beta1 = beta;
  plan.numbers.decoupled /= plan.step_factor;  // the decay acts on the length of a step
}

}  // namespace popflow
