#include <utility>

#include "steppers/dense_output.hpp"
#include "steppers/within_step.hpp"

namespace popflow {

namespace {

class QuinticOutput : public DenseOutput {
 public:
  QuinticOutput(Workers& workers, std::optional<Interpolant6> own,
                std::unique_ptr<DenseOutput> of_records)
      : workers_(workers), own_(own), of_records_(std::move(of_records)) {}

  bool prepare(const Step& step, const Slope& slope, const Tolerance& /*tolerance*/,
               State& scratch) override {
    is_of_records_ = false;
    for (std::size_t i = 0; i < inner_.size(); ++i) {
      const double time = kQuinticPlaces[i] * step.h;
      if (own_)
        interpolate(step, time, scratch);
      else
        within_step::cubic(workers_, step.x, step.h, step.x_new, step.first, step.last,
                           kQuinticPlaces[i], scratch);
      inner_[i].resize(step.x.size());
      slope(scratch, inner_[i], step.t + time);
    }
    return true;
  }

  void at(const Step& step, double part, State& out) const override {
    within_step::quintic(workers_, step.x, step.h, step.x_new, step.first, inner_, step.last, part,
                         out);
  }

  bool prepare_record(const Step& step, const Slope& slope, const Tolerance& tolerance,
                      State& scratch) override {
    is_of_records_ = of_records_ != nullptr;
    return is_of_records_ ? of_records_->prepare(step, slope, tolerance, scratch)
                          : prepare(step, slope, tolerance, scratch);
  }
  void record(const Step& step, double part, State& out) const override {
    if (is_of_records_)
      of_records_->at(step, part, out);
    else
      at(step, part, out);
  }

  [[nodiscard]] int degree() const override { return 5; }

 private:
  /// Writes the state of the method's own interpolant, at `time` after the start of the step.
  void interpolate(const Step& step, double time, State& out) const {
    using Sum = boost::numeric::odeint::default_operations::scale_sum7<double>;
    const double h = step.h;
    const std::array<double, 6> w = own_->weights(time / h);
    const auto slope = [&](std::size_t i) -> const State& { return *step.stages[own_->stages[i]]; };
    out.resize(step.x.size());
    ThreadedAlgebra(workers_).for_each8(
        out, step.x, slope(0), slope(1), slope(2), slope(3), slope(4), slope(5),
        Sum(1, h * w[0], h * w[1], h * w[2], h * w[3], h * w[4], h * w[5]));
  }

  Workers& workers_;
  std::optional<Interpolant6> own_;
  std::array<State, kQuinticPlaces.size()> inner_;  ///< slopes at kQuinticPlaces
  std::unique_ptr<DenseOutput> of_records_;
  bool is_of_records_ = false;  ///< whether the last step was prepared for records
};

}  // namespace

std::unique_ptr<DenseOutput> make_quintic_output(Workers& workers, std::optional<Interpolant6> own,
                                                 std::unique_ptr<DenseOutput> of_records) {
  return std::make_unique<QuinticOutput>(workers, own, std::move(of_records));
}

}  // namespace popflow
