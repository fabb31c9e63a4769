// Switches of a sharp relu's regime: the side of its kink on which every h is, or whether it slides
// along the kink.

#include <algorithm>
#include <cmath>

#include "dynamics/joma_joint/box.hpp"
#include "dynamics/joma_joint/system.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Distance from 0 within which h counts as on the surface. A side holds until h is this far on the
// wrong side: more than rounding, so that a switch does not immediately cause the next one, and far
// less than any tolerance.
constexpr double kSurface = 1e-12;
// A slide ends when theta is this far outside [0,1].
constexpr double kSlack = 1e-10;

}  // namespace

double& JomaJoint::side_entry(std::span<double> regime, const Surface& s) const {
  return regime[static_cast<std::size_t>(s.second * K_ + s.first)];
}

void JomaJoint::switch_functions(StateView x, double /*t*/, std::span<double> values) const {
  const auto work = work_.borrow();
  const Flow& flow = work->flow;
  const Point at = evaluate(x, *work);
  std::size_t i = 0;
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k, ++i) {
      const double h = flow.h()(k, c);
      const double theta = flow.slope()(k, c);
      switch (side_of(at.sides[i])) {
        case Side::below:
          values[i] = kSurface - h;
          break;
        case Side::above:
          values[i] = kSurface + h;
          break;
        case Side::sliding:
          values[i] = std::min(theta, 1 - theta) + kSlack;
          break;
      }
    }
  }
}

/// Sets the regime of the start: the sides of h and, where h is on a surface, the direction of the
/// flow.
void JomaJoint::set_first_regime() {
  if (kinks_ == 0) return;
  first_regime_.assign(kinks_, 0.0);
  const auto work = work_.borrow();
  evaluate({start_, first_regime_}, *work);
  const Eigen::MatrixXd h = work->flow.h();
  std::vector<Surface> surfaces;
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k) {
      if (std::abs(h(k, c)) <= kSurface) surfaces.emplace_back(k, c);
      side_entry(first_regime_, {k, c}) =
          static_cast<double>(h(k, c) > 0 ? Side::above : Side::below);
    }
  }
  choose_sides(start_, first_regime_, surfaces, *work);
}

void JomaJoint::switch_regime(std::span<double> x, std::span<double> regime, double /*t*/) const {
  const auto work = work_.borrow();
  evaluate({x, regime}, *work);
  std::vector<Surface> near;
  std::vector<Surface> off;  // near the surface, but not as near as possible
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k) {
      const double h = work->flow.h()(k, c);
      const Side side = side_of(side_entry(regime, {k, c}));
      const double inside = side == Side::below ? -h : side == Side::above ? h : 0.0;
      if (inside <= 4 * kSurface) near.emplace_back(k, c);
      if (side == Side::sliding || inside < -2 * kSurface) off.emplace_back(k, c);
    }
  }
  project_onto(x, regime, off, *work);
  choose_sides(x, regime, near, *work);
}

void JomaJoint::project_onto(std::span<double> x, std::span<const double> regime,
                             const std::vector<Surface>& surfaces, Work& work) const {
  if (surfaces.empty()) return;
  // Newton's method along the gradients of h, the shortest correction.
  std::vector<double> moves(x.size());
  for (int round = 0; round < 2; ++round) {
    const Point at = evaluate({x, regime}, work);
    Eigen::VectorXd wanted(static_cast<Index>(surfaces.size()));
    for (std::size_t i = 0; i < surfaces.size(); ++i)
      wanted[static_cast<Index>(i)] = -work.flow.h()(surfaces[i].first, surfaces[i].second);
    const Eigen::VectorXd weights = solve_semidefinite(work.flow.gram(at, surfaces), wanted);
    work.flow.velocity_of(at, surfaces, weights, velocity_in(moves));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += moves[i];
  }
}

/// Filippov's choice for all surfaces on which the state lies: phi' = 1 if h then rises, 0 if h
/// falls, and a number between 0 and 1 that keeps h = 0 if both sides push towards the surface.
/// Both sides can push towards a surface if g < 0. If g > 0 (k = c) both sides push away, and h
/// leaves on the side to which it moves.
void JomaJoint::choose_sides(std::span<double> x, std::span<double> regime,
                             const std::vector<Surface>& surfaces, Work& work) const {
  if (surfaces.empty()) return;
  const auto n = static_cast<Index>(surfaces.size());
  const auto surface = [&](Index i) { return surfaces[static_cast<std::size_t>(i)]; };
  const Point at = evaluate({x, regime}, work);
  std::vector<Index> held;    // g <= 0
  std::vector<Index> passed;  // g > 0
  Eigen::VectorXd pull(n);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(n);
  for (Index i = 0; i < n; ++i) {
    const Surface s = surface(i);
    pull[i] = work.flow.pull(s);
    const double theta = std::clamp(work.flow.slope()(s.first, s.second), 0.0, 1.0);
    (pull[i] > 0 ? passed : held).push_back(i);
    const bool slides = side_of(side_entry(regime, s)) == Side::sliding;
    weights[i] = pull[i] > 0 && slides ? 0.0 : pull[i] * theta;
  }
  Eigen::MatrixXd rest = work.flow.weights();
  for (const Surface& s : surfaces) rest(s.first, s.second) = 0;
  const Eigen::VectorXd drift = work.flow.drift(at, surfaces, rest);
  const Eigen::MatrixXd A = work.flow.gram(at, surfaces);

  std::vector<Place> place(static_cast<std::size_t>(n), Place::low);
  const auto hold = [&] {
    Eigen::VectorXd others = weights;
    others(held).setZero();
    const Eigen::VectorXd force = drift(held) + A(held, Eigen::all) * others;
    const Equilibrium rests = equilibrium_in_box(A(held, held), force, -pull(held), -weights(held));
    for (std::size_t j = 0; j < held.size(); ++j) {
      weights[held[j]] = -rests.mu[static_cast<Index>(j)];
      place[static_cast<std::size_t>(held[j])] = rests.place[j];
    }
  };
  // Leaving a surface only increases the velocity away from it, so the sweeps terminate; the limit
  // guards against rounding.
  for (Index sweep = 0; sweep <= n; ++sweep) {
    if (!held.empty()) hold();
    const Eigen::VectorXd velocity = drift + A * weights;
    bool changed = false;
    for (const Index i : passed) {
      const Place goes = velocity[i] > 0 ? Place::high : Place::low;
      const double weight = goes == Place::high ? pull[i] : 0.0;
      changed = changed || weight != weights[i];
      weights[i] = weight;
      place[static_cast<std::size_t>(i)] = goes;
    }
    if (!changed) break;
  }

  std::vector<Surface> stuck;  // on the wrong side within the tolerance, and not moving
  for (Index i = 0; i < n; ++i) {
    const Place at_place = place[static_cast<std::size_t>(i)];
    const Side side = at_place == Place::between ? Side::sliding
                      : at_place == Place::high  ? Side::above
                                                 : Side::below;
    side_entry(regime, surface(i)) = static_cast<double>(side);
    const double h = work.flow.h()(surface(i).first, surface(i).second);
    const double inside = side == Side::below ? -h : side == Side::above ? h : 0.0;
    if (inside < -0.5 * kSurface) stuck.push_back(surface(i));
  }
  project_onto(x, regime, stuck, work);
}

}  // namespace popflow::joma_joint
