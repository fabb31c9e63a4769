#pragma once

#include <array>
#include <boost/numeric/odeint/util/is_resizeable.hpp>
#include <boost/numeric/odeint/util/resize.hpp>
#include <boost/numeric/odeint/util/same_size.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lanes/lane_width.hpp"
#include "popflow/pack.hpp"
#include "steppers/lane_stepper.hpp"
#include "steppers/largest_entry.hpp"
#include "steppers/odeint_algebra.hpp"
#include "steppers/step_factor.hpp"

/// Tells odeint how to size states in lanes.
namespace boost::numeric::odeint {

template <>
struct is_resizeable<popflow::LaneRows> : std::true_type {
  using type = boost::true_type;
  static const bool value = true;
};

template <>
struct same_size_impl<popflow::LaneRows, popflow::LaneRows> {
  static bool same_size(const popflow::LaneRows& a, const popflow::LaneRows& b) {
    return a.rows() == b.rows();
  }
};

template <>
struct resize_impl<popflow::LaneRows, popflow::LaneRows> {
  [[gnu::noinline]] static void resize(popflow::LaneRows& a, const popflow::LaneRows& b) {
    a.resize(b.rows());
  }
};

}  // namespace boost::numeric::odeint

namespace popflow {

/// Replaces odeint's array of error estimates, as StepError does for a single trajectory. The pass
/// that computes the errors also reduces them to a norm in each lane.
struct LaneError {
  const LaneRows& tolerance;  ///< laid out as in LaneStepper
  const LaneRows& x;
  const LaneRows& x_new;
  ErrorNorm norm;
  LaneRows& value;  ///< one row; NaN or infinite where any value was not finite
};

/// odeint's algebra over states in lanes.
template <std::size_t width>
class LaneAlgebra : public OdeintAlgebra<LaneAlgebra<width>> {
 public:
  /// Computes op(s1, ..., sN) for all entries; `all` refers to s1, ..., sN and op.
  template <class Out, class... A>
  void each(std::tuple<Out&, A&...> all) const {
    const auto& op = std::get<sizeof...(A)>(all);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      combine(std::get<0>(all), op, std::get<I + 1>(all).template packs<width>()...);
    }
    (std::make_index_sequence<sizeof...(A) - 1>{});
  }

 private:
  using Number = BasicPack<width>;

  template <class Op, class... In>
  static void combine(LaneRows& out, const Op& op, const In*... in) {
    Number* const to = out.packs<width>();
    for (std::size_t i = 0; i < out.rows(); ++i) op(to[i], in[i]...);
  }

  template <class Op, class... In>
  static void combine(LaneError& out, const Op& op, const In*... in) {
    *out.value.packs<width>() =
        out.norm == ErrorNorm::rms ? root_mean_square(out, op, in...) : largest(out, op, in...);
  }
  template <class Op, class... In>
  static Number largest(const LaneError& of, const Op& op, const In*... in) {
    Number worst = 0;
    for (std::size_t i = 0; i < of.x.rows(); ++i) {
      const Number here = in_units(of, i, op, in...);
      // Keeps a NaN of either argument, which max() may drop.
      worst = max(worst, here) + 0 * here;
    }
    return worst;
  }
  template <class Op, class... In>
  static Number root_mean_square(const LaneError& of, const Op& op, const In*... in) {
    Number sum = 0;
    for (std::size_t i = 0; i < of.x.rows(); ++i) {
      const Number here = in_units(of, i, op, in...);
      sum += here * here;
    }
    return sqrt(sum / static_cast<double>(of.x.rows()));
  }
  /// Error of entry i in units of the tolerance; NaN if the new state is not finite.
  template <class Op, class... In>
  static Number in_units(const LaneError& of, std::size_t i, const Op& op, const In*... in) {
    constexpr double kOverflows = std::numeric_limits<double>::max() / kLargestEntry;
    Number error;
    op(error, in[i]...);
    const Number* const tolerance = of.tolerance.packs<width>();
    const Number& relative = tolerance[of.x.rows()];
    const Number after = abs(of.x_new.packs<width>()[i]);
    const Number larger = max(after, abs(of.x.packs<width>()[i]));
    // The last term is 0, or NaN if a value is not finite.
    return abs(error) / (tolerance[i] + relative * larger) + 0 * (kOverflows * after);
  }
};

/// Stepper in lanes for one of odeint's embedded Runge-Kutta pairs (odeint_pairs.hpp): computes
/// with rows of Packs, with its own step length in each lane. All functions that a step calls are
/// compiled for vectors of `width` numbers.
template <class Method, std::size_t width>
class LanePair : public LaneStepper {
 public:
  LanePair(const LaneFormulas& formulas, ErrorNorm norm)
      : LaneStepper(formulas, norm),
        method_(Method::template stepper<LaneRows, Number>(Algebra())),
        last_(Method::kFirstSameAsLast ? formulas.entries() : 0) {
    method_.adjust_size(x);
  }

  void attempt() override {
    in_vectors<width>([this] { step(); });
  }

  void accept(const double* accepted) override {
    x.take(accepted, x_new);
    // After a rejected step this computes the slope at x again, with the same bits.
    if constexpr (Method::kFirstSameAsLast)
      slope_.take(accepted, last_);
    else
      flow(x, slope_, t.data());
  }

  [[nodiscard]] std::size_t stages() const override { return Method::kStages; }
  void read_stages(std::size_t lane, std::span<State> slopes) const override {
    for (std::size_t j = 0; j < slopes.size(); ++j)
      stages_[j]->read(lane, {slopes[j].data(), slopes[j].size()});
  }
  [[nodiscard]] bool first_same_as_last() const override { return Method::kFirstSameAsLast; }

 private:
  using Number = BasicPack<width>;
  using Algebra = LaneAlgebra<width>;

  void step() {
    std::size_t stage = 0;
    stages_[stage++] = &slope_;
    // odeint keeps its stages private, but these calls reveal the arrays of their slopes.
    const auto slope = [&](const LaneRows& at, LaneRows& dxdt, const Number& time) {
      stages_[stage++] = &dxdt;
      flow(at, dxdt, reinterpret_cast<const double*>(&time));
    };
    LaneError estimate{tolerance, x, x_new, norm_, error};
    const Number now = *t.packs<width>();
    const Number length = *h.packs<width>();
    if constexpr (Method::kFirstSameAsLast)
      method_.do_step(std::ref(slope), x, slope_, now, x_new, last_, length, estimate);
    else
      method_.do_step(std::ref(slope), x, slope_, now, x_new, length, estimate);
    *factor.packs<width>() = step_factor(*error.packs<width>(), Method::kErrorOrder);
  }

  typename Method::template Stepper<LaneRows, Number, Algebra> method_;
  LaneRows last_;                                             ///< slope at x_new
  std::array<const LaneRows*, Method::kStages> stages_ = {};  ///< slopes of the last attempt
};

/// Factory for the table of methods (flow_methods.hpp).
template <class Method>
std::unique_ptr<LaneStepper> make_lane_pair(const LaneFormulas& formulas, ErrorNorm norm) {
  switch (lane_width()) {
    case 8:
      return std::make_unique<LanePair<Method, 8>>(formulas, norm);
    case 4:
      return std::make_unique<LanePair<Method, 4>>(formulas, norm);
    default:
      return std::make_unique<LanePair<Method, 2>>(formulas, norm);
  }
}

}  // namespace popflow
