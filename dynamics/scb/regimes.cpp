// Stages of training, and the active set of weights that the l1 term does not hold at zero.

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/scb/system.hpp"

namespace popflow::scb {

namespace {

/// Time remaining until `end`; zero within rounding of `end`.
double time_remaining(double end, double t) {
  return end - t - (1e-12 * end + std::numeric_limits<double>::min());
}

}  // namespace

Regime Scb::first_regime() const {
  const std::size_t of_stages = training_.two_stage ? kRegimeEntries : std::size_t{0};
  Regime regime(of_stages + (active_set_ ? attention_size_ : 0));
  if (training_.two_stage && first_stage() == 1) {
    regime[kStage] = 1;
    return regime;
  }
  State x(shape_.state_size());
  start(x);
  std::copy(start_.stages.begin(), start_.stages.end(), regime.begin());
  if (of_stages > 0 && std::isnan(regime[kLoss]))
    regime[kLoss] =
        excess_loss(value_->report(x.data(), 0), attention_->report(x.data() + value_size_));
  if (penalised({x, regime})) find_signs(x, regime, 0);
  return regime;
}

Regime Scb::stages_from(const Regime& regime, double t, bool same_problem) const {
  if (!training_.two_stage) return {};
  Regime stages(regime.begin(), regime.begin() + kRegimeEntries);
  if (stages[kStage] == 1) return {};
  if (same_problem) {
    stages[kSince] -= t;
  } else {  // the loss is not on its plateau
    stages[kStage] = 2;
    stages[kSince] = 0;
    stages[kLoss] = std::numeric_limits<double>::quiet_NaN();
  }
  return stages;
}

void Scb::switch_functions(StateView x, double t, std::span<double> values) const {
  std::size_t next = 0;
  if (training_.two_stage) values[next++] = stage_left(x, t);
  if (!active_set_) return;
  values[next] = 1;
  if (!penalised(x)) return;
  const auto g = drifts_.borrow();
  g->resize(attention_size_);
  values[next] =
      active_set_->distance_to_change(attention_state(x), signs(x.regime), drift(x, t, *g));
}

void Scb::switch_regime(std::span<double> x, std::span<double> regime, double t) const {
  // A change of the active set and the end of a stage may be due at the same time.
  if (penalised({x, regime})) switch_signs(x, regime, t);
  if (training_.two_stage) switch_stage(x, regime, t);
}

// ---- stages

std::int8_t Scb::first_stage() const {
  return start_.stages.empty() ? std::int8_t{1}
                               : static_cast<std::int8_t>(std::lround(start_.stages[kStage]));
}

std::int8_t Scb::stage(StateView x) const {
  return training_.two_stage ? static_cast<std::int8_t>(std::lround(x.regime[kStage]))
                             : std::int8_t{1};
}

bool Scb::at_rest(StateView x) const { return stage(x) == 3; }

bool Scb::projected(StateView x) const { return variant_.project && stage(x) == 1; }

const AttentionPart& Scb::attention(StateView x) const {
  return stage(x) == 1 ? *attention_ : *free_attention_;
}

double Scb::signal_left(StateView x) const {
  // With both signals negative, V converges to -P and A to -Q: the weights that represent Q are
  // then the smallest, and no threshold finds them.
  const double of_V = value_->signal(x.data());
  const double product = signal_product(of_V / transition_.K_P, x);
  return *training_.two_stage->signal - (of_V > 0 ? product : -std::abs(product));
}

double Scb::stage_left(StateView x, double t) const {
  const TwoStage& two = *training_.two_stage;
  if (stage(x) == 1) return two.time ? time_remaining(*two.time, t) : signal_left(x);
  if (stage(x) == 2 && two.plateau_time > 0)
    return time_remaining(x.regime[kSince] + two.plateau_time, t);
  return 1;
}

void Scb::switch_stage(std::span<double> x, std::span<double> regime, double t) const {
  const TwoStage& two = *training_.two_stage;
  double* a = x.data() + value_size_;
  const bool begins = stage({x, regime}) == 1;
  // In stage 2 the caller may have switched because of a sign alone.
  if (!begins && stage_left({x, regime}, t) > 0) return;
  if (begins) {
    const Sparsified kept = attention_->sparsify(a, two.threshold, true);
    regime[kColumnsBelow] = static_cast<double>(kept.empty_columns);
  }
  const double loss = excess_loss(value_->report(x.data(), t), attention_->report(a));
  // A loss that is not finite is no plateau; the driver detects that the run has diverged.
  const bool ends = !begins && std::isfinite(loss) && regime[kLoss] - loss <= two.plateau_fall;
  regime[kStage] = ends ? 3 : 2;
  regime[kSince] = t;
  regime[kLoss] = loss;
  if (begins && active_set_) find_signs(x, regime, t);
}

// ---- the active set

bool Scb::penalised(StateView x) const {
  return active_set_ && (!training_.two_stage || stage(x) == 2);
}

ActiveSet::Drift Scb::drift(StateView x, double t, std::span<double> g) const {
  const Coupling c = value_->coupling(x.data(), t);
  const Drive drive = attention(x).derivative(x.data() + value_size_, c, g.data());
  // A weight's drift is a sum of terms of these sizes, each with a few rounding errors.
  const double size = std::abs(c.PV) + std::abs(c.VV) * natural_ + std::abs(c.along) +
                      c.norm2 * std::sqrt(drive.ss);
  return {g, 64 * std::numeric_limits<double>::epsilon() * size};
}

void Scb::find_signs(std::span<double> x, std::span<double> regime, double t) const {
  active_set_->find_signs(x.subspan(value_size_, attention_size_), signs(regime));
  const auto g = drifts_.borrow();
  g->resize(attention_size_);
  active_set_->release(signs(regime), drift({x, regime}, t, *g));
}

void Scb::switch_signs(std::span<double> x, std::span<double> regime, double t) const {
  const auto g = drifts_.borrow();
  g->resize(attention_size_);
  const StateView here{x, regime};
  if (active_set_->stop(x.subspan(value_size_, attention_size_), signs(regime), drift(here, t, *g)))
    active_set_->release(signs(regime), drift(here, t, *g));
}

}  // namespace popflow::scb
