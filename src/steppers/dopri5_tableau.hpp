#pragma once

#include <array>
#include <cstddef>

/// Dormand and Prince's method of order five (1980).
namespace popflow::dopri5 {

inline constexpr std::size_t kStages = 7;
/// Order of the local error of the embedded solution, which controls the step size: h^5.
inline constexpr int kErrorOrder = 5;

/// Weights of the slopes for the next stage. The last row gives the solution, whose slope is the
/// first slope of the next step.
inline constexpr double kTableau[kStages - 1][kStages - 1] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
/// Times of the stages, as fractions of the step.
inline constexpr double kTimes[kStages] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
/// Weights of the slopes in the error estimate, of order h^5.
inline constexpr double kError[kStages] = {
    71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

/// Dense output that belongs to the method, of order four (Hairer, Norsett and Wanner 1993, II.6).
/// Returns the state after a fraction of a step of length h from x to x_new, from its seven slopes.
inline double between(double x, double x_new, double h, const std::array<double, kStages>& slopes,
                      double part) {
  constexpr double kDense[kStages] = {-12715105075.0 / 11282082432,  0,
                                      87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
                                      701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                                      69997945.0 / 29380423};
  double quartic = 0;
  for (std::size_t j = 0; j < kStages; ++j) quartic += kDense[j] * slopes[j];
  const double way = x_new - x;
  const double bend = h * slopes[0] - way;
  const double rest = 1 - part;
  return x +
         part * (way + rest * (bend + part * (way - h * slopes[6] - bend + rest * h * quartic)));
}

// Dense output for records, in the form of stages_output.hpp, with one extra stage in the middle,
// whose state is that of between(). The conditions of order 4 hold, and the slopes at both ends are
// exact. The error of order 5 is at most 0.55 of the error estimate for each elementary
// differential. (Without the extra stage, it may be seven times as large as the estimate where the
// slope depends on t only.)

inline constexpr std::array<std::size_t, 6> kDenseStages = {0, 2, 3, 4, 5, 6};
inline constexpr std::array<double, 1> kExtraPlaces = {0.5};
inline constexpr std::array<std::array<double, 7>, 1> kExtraWeights = {
    {{0.10013431883002394, 0.39183217941842585, -0.0298246017659482, 0.05893268337240795,
      -0.0449788880910436, 0.023904308236133986}}};
inline constexpr std::array<std::array<double, 5>, 7> kDenseWeights = {{
    {0.1905181952832642, -0.1905181952832637, 0.2417734713834011, -0.26390888805006957,
     0.11328125000000135},
    {0.8418534420402373, -0.8418534420402377, 0.056619154545571426, 1.0664715911866898,
     -0.6738544474393575},
    {0.027320176253843198, -0.027320176253842643, 1.2747631570794926, 0.3528410095871748,
     -0.9765625000000039},
    {0.07280825288981246, -0.07280825288981307, -0.7175606113803807, -0.08837983673282834,
     0.4835642688679274},
    {-0.07035486154912543, 0.07035486154912529, 0.3322596234538895, -0.004878671072934937,
     -0.19642857142857387},
    {0.024593686759656286, -0.024593686759655453, -0.27459368675965745, 0.024593686759655564,
     0.2500000000000014},
    {-0.08673889167768767, 1.0867388916776886, -0.9132611083223168, -1.0867388916776886,
     1.0000000000000044},
}};

// ---- odeint's interpolant: also of order four, but one degree higher, given as weights of the
// ---- slopes. In the middle of the step both interpolants agree.

/// Stages whose slopes the interpolant uses.
inline constexpr std::array<std::size_t, 6> kInterpolantStages = {0, 2, 3, 4, 5, 6};
/// Weights at a fraction of the step, rounded like those of odeint's dense output.
inline std::array<double, 6> interpolant_weights(double part) {
  struct Term {
    double weight;  ///< weight in the solution
    double factor, constant, slope, divisor;
  };
  constexpr Term kTerms[] = {{35.0 / 384, -5, 2558722523, 31403016, 11282082432},
                             {500.0 / 1113, 100, 882725551, 15701508, 32700410799},
                             {125.0 / 192, -25, 443332067, 31403016, 1880347072},
                             {-2187.0 / 6784, 32805, 23143187, 3489224, 199316789632},
                             {11.0 / 84, -55, 29972135, 7076736, 822651844},
                             {0, 10, 7414447, 829305, 29380423}};
  const double rest = part - 1;
  const double square = part * part;
  const double end = square * (3 - 2 * part);
  const double bend = square * rest * rest;
  const double at_ends[] = {part * rest * rest, 0, 0, 0, 0, square * rest};
  std::array<double, 6> weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Term& term = kTerms[i];
    const double own = term.factor * (term.constant - term.slope * part) / term.divisor;
    weights[i] = end * term.weight + bend * own + at_ends[i];
  }
  return weights;
}

}  // namespace popflow::dopri5
