#pragma once

#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>
#include <cstddef>
#include <memory>

#include "steppers/dense_output.hpp"
#include "steppers/dopri5_tableau.hpp"
#include "steppers/stages_output.hpp"

// Embedded Runge-Kutta pairs of odeint, in the form that embedded_pair.hpp and lane_pair.hpp need.
// Each pair has these members:
//
// - Stepper, stepper(): odeint's stepper for any type of state and of time
// - kStages: number of slopes in a step, including those at both ends if the method uses both
// - kFirstSameAsLast: whether the last slope is at the end of the step and so the first of the next
// - kErrorOrder: order of the estimated local error, as in odeint: h^order
// - dense_output(): creates the dense output
// - kDenseStages and others: coefficients of the dense output (stages_output.hpp), if it has such

namespace popflow {

/// Dormand-Prince 5(4).
struct Dopri5 {
  template <class State, class Time, class Algebra>
  using Stepper =
      boost::numeric::odeint::runge_kutta_dopri5<State, double, State, Time, Algebra,
                                                 boost::numeric::odeint::default_operations,
                                                 boost::numeric::odeint::initially_resizer>;
  template <class State, class Time, class Algebra>
  static Stepper<State, Time, Algebra> stepper(const Algebra& algebra) {
    return Stepper<State, Time, Algebra>(algebra);
  }
  static constexpr std::size_t kStages = dopri5::kStages;
  static constexpr bool kFirstSameAsLast = true;
  static constexpr int kErrorOrder = dopri5::kErrorOrder;
  static constexpr auto kDenseStages = dopri5::kDenseStages;
  static constexpr auto kExtraPlaces = dopri5::kExtraPlaces;
  static constexpr auto kExtraWeights = dopri5::kExtraWeights;
  static constexpr auto kDenseWeights = dopri5::kDenseWeights;
  static std::unique_ptr<DenseOutput> dense_output(Workers& workers) {
    return make_quintic_output(
        workers, Interpolant6{dopri5::kInterpolantStages, dopri5::interpolant_weights},
        std::make_unique<StagesOutput<Dopri5>>(workers));
  }
};

/// Runge-Kutta-Fehlberg 7(8).
struct Fehlberg78 {
  template <class State, class Time, class Algebra>
  using Stepper =
      boost::numeric::odeint::runge_kutta_fehlberg78<State, double, State, Time, Algebra,
                                                     boost::numeric::odeint::default_operations,
                                                     boost::numeric::odeint::initially_resizer>;
  template <class State, class Time, class Algebra>
  static Stepper<State, Time, Algebra> stepper(const Algebra& algebra) {
    return Stepper<State, Time, Algebra>(algebra);
  }
  static constexpr std::size_t kStages = 13;
  static constexpr bool kFirstSameAsLast = false;
  static constexpr int kErrorOrder = 8;
  static std::unique_ptr<DenseOutput> dense_output(Workers& workers) {
    return make_septic_output(workers, SepticStages{7, 9, 8, 6});
  }
};

}  // namespace popflow
