#pragma once

#include <array>
#include <boost/array.hpp>
#include <boost/fusion/container/vector.hpp>
#include <boost/numeric/odeint/algebra/default_operations.hpp>
#include <boost/numeric/odeint/stepper/explicit_error_generic_rk.hpp>
#include <cstddef>
#include <memory>

#include "steppers/dense_output.hpp"
#include "steppers/stages_output.hpp"

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

// Dense output with two extra stages, for records. Among the sums of slopes whose order conditions
// hold up to order 6, it is the one whose residuals of order 7 are smallest (2e-7, a hundredth of
// those without extra stages), found by least squares in 40 digits. Its error of order 8 is 1.3
// times the error estimate. tests/steppers/verner8_test.cpp checks both. Verner's own interpolant
// has weights of a million, which cancel and lose ten digits.

inline constexpr std::array<std::size_t, 10> kDenseStages = {0, 5, 6, 7, 8, 9, 10, 11, 12, 13};
inline constexpr std::array<double, 2> kExtraPlaces = {0.25, 0.75};
inline constexpr std::array<std::array<double, 12>, 2> kExtraWeights = {{
    {0.05192541764166043, -0.002596636660613352, 0.19774662926771003, -0.0878451966565816,
     0.6208196629377747, -0.737562569046232, 0.2046671313743845, 0.009071821475082254,
     -0.005268488242727309, -0.000957772090457587},
    {0.03840020561729996, 0.4010061031396486, 0.2944320009172006, -0.17705022084768296,
     -0.0833710467369548, 0.8150083141213517, -0.6279710919598812, 0.07559195073593125,
     0.06659692961578043, 0.015613220041661009, -0.06825636464435447},
}};
inline constexpr std::array<std::array<double, 7>, 12> kDenseWeights = {
    {{0.09830565869934223, -0.1346029978061901, 0.041977232498685284, 0.06319248635634182,
      0.21001632659188926, -0.406449541455112, 0.17184072930512298},
     {0.37584045821719586, 0.9623535597869709, -0.833680241623151, -2.012669590721304,
      1.6906496239684894, 1.227368500520556, -1.0557573709763117},
     {0.39766908420033686, -0.06481818842437075, 0.9634405289060501, -2.230480380512976,
      -0.015991948238924695, 2.4192831766851683, -1.2211330571196404},
     {-1.6572916161950366, -3.0487601370481254, 17.671572031622528, -2.914660240429857,
      -47.157669558278826, -1.8836806419410594, 23.29628812343229},
     {6.959876784180555, 6.9373470685696015, -97.58582311070408, 5.028273240948224,
      225.10721593709124, 0.5764121732614568, -121.93923712778845},
     {-8.264339013499477, -6.148935777680929, 118.80826520789246, -8.982799916471725,
      -278.1388679580678, -0.7374481989774845, 151.7257578705447},
     {3.1462467576978494, 2.168718902893376, -41.6612297933826, 7.179522835659963,
      106.94315955401649, 2.1208998984410528, -56.95903488133734},
     {-0.007594252943574443, 0.22724002920378275, 0.32806842165387856, -0.3023394518299272,
      -1.2443753862855815, -0.04296680902743263, 0.8058349859217002},
     {-0.033437017199347815, 0.19112867984225826, 0.8527469977217735, -0.2226539393153765,
      -2.145368995821506, 0.03152525947311824, 1.3260590152990805},
     {-0.015277659796433857, 0.03956741885122531, 0.2854315190296157, -0.09791170876977764,
      -0.7562531871074587, 0.058344289918552325, 0.4860993278742768},
     {0.1777781855173794, -0.7423982328210226, -0.8576054377459764, 3.6684857800998287,
      -1.0018129939375742, -2.926087547278806, 1.6816402461661712},
     {-0.17777736887878978, -0.38684032536657675, 1.9868366441308207, 0.8240408849865862,
      -3.490701413930425, -0.4372005596200095, 1.681642138678394}}};
/// Largest defect for which the dense output is used. In most steps the defect is 4 to 8 times the
/// error within the step (docs/numerics-inside.md), and it does not vanish with the error estimate.
inline constexpr double kLargestDefect = 24;

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
  static constexpr auto kDenseStages = verner8::kDenseStages;
  static constexpr auto kExtraPlaces = verner8::kExtraPlaces;
  static constexpr auto kExtraWeights = verner8::kExtraWeights;
  static constexpr auto kDenseWeights = verner8::kDenseWeights;
  static constexpr double kLargestDefect = verner8::kLargestDefect;
  static std::unique_ptr<DenseOutput> dense_output(Workers& workers) {
    return std::make_unique<StagesOutput<Verner8>>(workers);
  }
};

}  // namespace popflow
