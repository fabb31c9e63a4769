#include "flow/step_length.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "flow/endings.hpp"
#include "popflow/math.hpp"

namespace popflow {

std::string at_time(double t) {
  std::ostringstream text;
  text.precision(10);
  text << "t = " << t;
  return text.str();
}

FirstStep first_step(const Tolerance& tolerance, std::span<const double> x,
                     std::span<const double> dxdt, std::span<const double> regime) {
  // Choose a hundredth of the time scale of the state. From a zero state, choose the step whose
  // fifth power is small in units of the tolerance. Limit this step so that it moves no entry by
  // more than its natural scale: longer steps could miss features. Any other wrong guess costs only
  // a few rejections.
  double size = 0;
  double speed = 0;
  tolerance.each_piece(0, x.size(), [&](std::size_t begin, std::size_t end, double scale) {
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = tolerance.atol() * scale + tolerance.rtol() * std::abs(x[i]);
      size = std::max(size, std::abs(x[i]) / weight);
      speed = std::max(speed, std::abs(dxdt[i]) / weight);
    }
  });
  // Count a regime's numbers as entries of order 1, because a System with regimes is not at rest.
  for (const double number : regime)
    size =
        std::max(size, std::abs(number) / (tolerance.atol() + tolerance.rtol() * std::abs(number)));
  if (!std::isfinite(speed)) return {FirstStep::kCautious};  // the step will fail
  constexpr double kLong = 100;
  if (!(speed * kLong > 1)) return {FirstStep::kCautious, true};
  if (size > 1e-5) return {0.01 * size / speed};
  return {std::min(math::pow(0.01 / speed, 0.2), 1 / (tolerance.atol() * speed))};
}

bool grows_without_bound(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                         std::span<const double> dxdt, double t) {
  // Near a blow-up the time scale of the state, |x|/|dx/dt|, shrinks with the step and x moves
  // outwards. At a kink or a jump neither happens.
  double outwards = 0;
  for (std::size_t i = 0; i < x.size(); ++i) outwards += x[i] * dxdt[i];
  const double own_time =
      scaled_norm(workers, tolerance, x) / scaled_norm(workers, tolerance, dxdt);
  return own_time < 1e-8 * std::max(std::abs(t), smallest_step(t)) && outwards > 0;
}

Outcome step_underflow(Workers& workers, const Tolerance& tolerance, std::span<const double> x,
                       std::span<const double> dxdt, double t,
                       const std::optional<std::string>& blame) {
  // A blow-up is only a few of the smallest steps away, so it happens at t to within rounding.
  if (grows_without_bound(workers, tolerance, x, dxdt, t))
    return diverged_at(t, "the state grows without bound at " + at_time(t));
  if (blame) return diverged_at(t, "the trajectory became non-finite at " + at_time(t) + *blame);
  return {Outcome::Kind::underflow, t,
          "the step size underflowed at " + at_time(t) +
              " although the state does not grow: the right-hand side may jump there"};
}

}  // namespace popflow
