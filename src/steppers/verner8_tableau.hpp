#pragma once

#include <boost/array.hpp>
#include <boost/fusion/container/vector.hpp>
#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/stepper/explicit_error_generic_rk.hpp>
#include <cstddef>

#include "steppers/dense_output.hpp"

/// Verner's efficient pair of orders 8(7) with 13 stages (Verner 2010, Numerical Algorithms 53,
/// 383-396), in the form of odeint's generic Runge-Kutta steppers. The coefficients are exact
/// rational numbers, rounded. tests/steppers/verner8_test.cpp checks the order conditions of both
/// orders.
namespace popflow::verner8 {

template <std::size_t kStage>
using Row = boost::array<double, kStage>;

/// Coefficients of the slopes before stage 2, 3, ..., 13.
inline const auto kCoefficients =
    boost::fusion::vector<Row<1>, Row<2>, Row<3>, Row<4>, Row<5>, Row<6>, Row<7>, Row<8>, Row<9>,
                          Row<10>, Row<11>, Row<12>>(
        Row<1>{{0.05}}, Row<2>{{-0.0069931640625, 0.1135556640625}},
        Row<3>{{0.0399609375, 0, 0.1198828125}},
        Row<4>{{0.36139756280045754, 0, -1.3415240667004928, 1.3701265039000352}},
        Row<5>{{0.049047202797202795, 0, 0, 0.23509720422144048, 0.18085559298135673}},
        Row<6>{{0.06169289044289044, 0, 0, 0.11236568314640277, -0.03885046071451367,
                0.01979188712522046}},
        Row<7>{{-1.767630240222327, 0, 0, -62.5, -6.061889377376669, 5.6508231982227635,
                65.62169641937624}},
        Row<8>{{-1.1809450665549708, 0, 0, -41.50473441114321, -4.434438319103725,
                4.260408188586133, 43.75364022446172, 0.00787142548991231}},
        Row<9>{{-1.2814059994414884, 0, 0, -45.047139960139866, -4.731362069449577,
                4.514967016593808, 47.44909557172985, 0.010592282971116612,
                -0.0057468422638446166}},
        Row<10>{{-1.7244701342624853, 0, 0, -60.92349008483054, -5.951518376222393,
                 5.556523730698456, 63.98301198033305, 0.014642028250414961, 0.06460408772358203,
                 -0.0793032316900888}},
        Row<11>{{-3.301622667747079, 0, 0, -118.01127235975251, -10.141422388456112,
                 9.139311332232058, 123.37594282840426, 4.62324437887458, -3.3832777380682018,
                 4.527592100324618, -5.828495485811623}},
        Row<12>{{-3.039515033766309, 0, 0, -109.26086808941763, -9.290642497400293,
                 8.43050498176491, 114.20100103783314, -0.9637271342145479, -5.0348840888021895,
                 5.958130824002923, 0, 0}});

/// Weights of the slopes for order 8.
inline constexpr Row<13> kWeights = {
    {0.04427989419007951, 0, 0, 0, 0, 0.3541049391724449, 0.2479692154956438, -15.694202038838084,
     25.084064965558564, -31.738367786260277, 22.938283273988784, -0.2361324633071542, 0}};
/// Weights of the error estimate: order 8 minus order 7.
inline constexpr Row<13> kErrorWeights = {
    {-3.2721039010281375e-05, 0, 0, 0, 0, -0.0005046250618777704, 0.0001211723589784759,
     -20.142336771313868, 5.2371785994398286, -8.156744408794658, 22.938283273988784,
     -0.2361324633071542, 0.36016794372897754}};

/// Times of the stages, as fractions of the step.
inline constexpr Row<13> kPlaces = {{0, 0.05, 0.1065625, 0.15984375, 0.39, 0.465, 0.155, 0.943,
                                     0.901802041735857, 0.909, 0.94, 1.0, 1.0}};

}  // namespace popflow::verner8

namespace popflow {

/// The pair in the form of embedded_pair.hpp and lane_pair.hpp.
struct Verner8 {
  template <class State, class Time, class Algebra>
  using Stepper = boost::numeric::odeint::explicit_error_generic_rk<
      13, 8, 8, 7, State, double, State, Time, Algebra, boost::numeric::odeint::default_operations,
      boost::numeric::odeint::initially_resizer>;
  template <class State, class Time, class Algebra>
  static Stepper<State, Time, Algebra> stepper(const Algebra& algebra) {
    return {verner8::kCoefficients, verner8::kWeights, verner8::kErrorWeights, verner8::kPlaces,
            algebra};
  }
  static constexpr std::size_t kStages = 13;
  static constexpr bool kFirstSameAsLast = false;
  static constexpr int kErrorOrder = 8;
  static std::unique_ptr<DenseOutput> dense_output(Workers& workers) {
    return make_septic_output(workers);
  }
};

}  // namespace popflow
