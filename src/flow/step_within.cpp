#include "flow/step_within.hpp"

namespace popflow {

StepWithin::StepWithin(const FlowMethod& method, std::size_t entries, std::size_t stages,
                       bool ends_with_stage)
    : x(entries),
      x_new(entries),
      slopes(stages, State(entries)),
      method_(method),
      ends_with_stage_(ends_with_stage),
      dense_(method.make_dense_output(alone_)),
      last_(ends_with_stage ? 0 : entries),
      between_(entries) {
  for (State& slope : slopes) stages_.push_back(&slope);
}

DenseOutput::Step StepWithin::step() const {
  return {x, t_, h_, x_new, slopes.front(), ends_with_stage_ ? slopes.back() : last_, stages_};
}

void StepWithin::begin(const System& system, const Tolerance& tolerance, bool jumps, double t,
                       double h) {
  system_ = &system;
  tolerance_ = &tolerance;
  jumps_ = jumps;
  t_ = t;
  h_ = h;
  stepper_.reset();
  partial_.begin();
  dense_output_.reset();
  record_.reset();
}

bool StepWithin::prepare(Prepare by) {
  const auto slope = [this](const State& at, State& dxdt, double time) {
    system_->rhs({at, {}}, time, dxdt);
  };
  if (!ends_with_stage_ && !dense_output_ && !record_) slope(x_new, last_, t_ + h_);
  return ((*dense_).*by)(step(), slope, *tolerance_, between_);
}

StateView StepWithin::at(double part) {
  if (!dense_output_) dense_output_ = prepare(&DenseOutput::prepare);
  if (*dense_output_)
    dense_->at(step(), part, between_);
  else
    partial_.take(stepper(), x, t_, h_, jumps_, part, between_);
  return {between_, {}};
}

const State& StepWithin::record(double part) {
  if (!record_) record_ = dense_output_.value_or(false) || prepare(&DenseOutput::prepare_record);
  if (*record_)
    dense_->record(step(), part, between_);
  else
    PartialSteps().take(stepper(), x, t_, h_, jumps_, part, between_);
  return between_;
}

Stepper& StepWithin::stepper() {
  if (!stepper_) {
    rhs_.emplace(*system_, no_regime_);
    stepper_ = method_.make(*rhs_, *tolerance_, alone_);
  }
  return *stepper_;
}

}  // namespace popflow
