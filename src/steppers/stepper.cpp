#include "steppers/stepper.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/error.hpp"

namespace popflow {

double step_factor(double error, int order) {
  constexpr double kSafety = 0.9;
  constexpr double kShrink = 0.2;
  constexpr double kGrow = 5;
  if (error <= 0) return kGrow;
  return std::clamp(kSafety * std::pow(error, -1.0 / order), kShrink, kGrow);
}

std::unique_ptr<Stepper> make_stepper(const std::string& method, Rhs& rhs,
                                      const Tolerance& tolerance, Workers& workers) {
  if (method == "bulirsch_stoer") return make_bulirsch_stoer(rhs, tolerance, workers);
  if (method == "rosenbrock4") return make_rosenbrock4(rhs, tolerance, workers);
  return make_explicit_stepper(method, rhs, tolerance, workers);
}

double stepper_states(const std::string& method, double state_size) {
  if (method == "dopri5") return 2 + 8;           // k1..k7 and a trial point
  if (method == "fehlberg78") return 2 + 14;      // k1..k13 and a trial point
  if (method == "bulirsch_stoer") return 2 + 18;  // the extrapolation table, scaled copies
  if (method == "rosenbrock4") return 2 + 14 + 2 * state_size;  // and the Jacobian, twice
  if (method == "rk4") return 2 + 5;
  return 2 + 1;  // euler
}

double extension_states(const std::string& method) {
  if (method == "dopri5") return 2 + 1;  // derivatives at two points
  if (method == "rk4") return 4 + 1;     // and at the ends
  // At the end, at four points, and one of them anew.
  if (method == "fehlberg78") return 6 + 1;
  if (method == "bulirsch_stoer") return 4;
  return method == "euler" ? 1 : 0;
}

}  // namespace popflow
