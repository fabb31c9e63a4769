// A sharp relu's changes of mode.

#include <algorithm>
#include <cmath>

#include "dynamics/joma_joint/box.hpp"
#include "dynamics/joma_joint/system.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// h this near to 0 is on the surface. A mode holds until h is this far on the wrong side: more than
// rounding, so that a change of mode does not call for the next at once, and far less than any
// tolerance.
constexpr double kSurface = 1e-12;
// A slide holds until theta is this far out of [0,1].
constexpr double kSlack = 1e-10;

}  // namespace

double& JomaJoint::mode_entry(std::span<double> x, const Surface& s) const {
  return x[x.size() - modes_ + static_cast<std::size_t>(s.second * K_ + s.first)];
}

void JomaJoint::switch_functions(std::span<const double> x, double /*t*/,
                                 std::span<double> values) const {
  const auto work = work_.borrow();
  const Flow& flow = work->flow;
  const Point at = point(x, *work);
  work->flow.at(at);
  std::size_t i = 0;
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k, ++i) {
      const double h = flow.h()(k, c);
      const double theta = flow.slope()(k, c);
      switch (mode_of(at.modes[i])) {
        case Mode::below:
          values[i] = kSurface - h;
          break;
        case Mode::above:
          values[i] = kSurface + h;
          break;
        case Mode::sliding:
          values[i] = std::min(theta, 1 - theta) + kSlack;
          break;
      }
    }
  }
}

/// Modes of the start: by the side, and where it is on a surface by where the flow goes from there.
void JomaJoint::first_modes() {
  if (modes_ == 0) return;
  const std::span<double> x = start_;
  const auto work = work_.borrow();
  work->flow.at(point(x, *work));
  const Eigen::MatrixXd h = work->flow.h();
  std::vector<Surface> surfaces;
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k) {
      if (std::abs(h(k, c)) <= kSurface) surfaces.emplace_back(k, c);
      mode_entry(x, {k, c}) = static_cast<double>(h(k, c) > 0 ? Mode::above : Mode::below);
    }
  }
  choose_modes(x, surfaces, *work);
}

void JomaJoint::switch_mode(std::span<double> x, double /*t*/) const {
  for (std::size_t i = x.size() - modes_; i < x.size(); ++i) x[i] = std::round(x[i]);
  const auto work = work_.borrow();
  work->flow.at(point(x, *work));
  std::vector<Surface> near;
  std::vector<Surface> off;  // near, but not as near as can be
  for (Index c = 0; c < C_; ++c) {
    for (Index k = 0; k < K_; ++k) {
      const double h = work->flow.h()(k, c);
      const Mode mode = mode_of(mode_entry(x, {k, c}));
      const double inside = mode == Mode::below ? -h : mode == Mode::above ? h : 0.0;
      if (inside <= 4 * kSurface) near.emplace_back(k, c);
      if (mode == Mode::sliding || inside < -2 * kSurface) off.emplace_back(k, c);
    }
  }
  back_onto(x, off, *work);
  choose_modes(x, near, *work);
}

void JomaJoint::back_onto(std::span<double> x, const std::vector<Surface>& surfaces,
                          Work& work) const {
  if (surfaces.empty()) return;
  // Newton's method along the gradients of h, the shortest way.
  std::vector<double> moves(x.size());
  for (int round = 0; round < 2; ++round) {
    const Point at = point(x, work);
    work.flow.at(at);
    Eigen::VectorXd wanted(static_cast<Index>(surfaces.size()));
    for (std::size_t i = 0; i < surfaces.size(); ++i)
      wanted[static_cast<Index>(i)] = -work.flow.h()(surfaces[i].first, surfaces[i].second);
    const Eigen::VectorXd weights = solve_semidefinite(work.flow.gram(at, surfaces), wanted);
    work.flow.velocity_of(at, surfaces, weights, velocity_in(moves, work));
    for (std::size_t i = 0; i < x.size() - modes_; ++i) x[i] += moves[i];
  }
}

/// Filippov's choice for all surfaces that the state is on at once: phi' = 1 where h then rises, 0
/// where it falls, a number between that holds h where both sides push towards the surface. Those
/// are the surfaces with g < 0; with g > 0 (k = c) both sides push away, and h goes on to the side
/// it goes to.
void JomaJoint::choose_modes(std::span<double> x, const std::vector<Surface>& surfaces,
                             Work& work) const {
  if (surfaces.empty()) return;
  const auto n = static_cast<Index>(surfaces.size());
  const auto surface = [&](Index i) { return surfaces[static_cast<std::size_t>(i)]; };
  const Point at = point(x, work);
  work.flow.at(at);
  std::vector<Index> held;    // g <= 0
  std::vector<Index> passed;  // g > 0
  Eigen::VectorXd pull(n);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(n);
  for (Index i = 0; i < n; ++i) {
    const Surface s = surface(i);
    pull[i] = work.flow.pull(s);
    const double theta = std::clamp(work.flow.slope()(s.first, s.second), 0.0, 1.0);
    (pull[i] > 0 ? passed : held).push_back(i);
    weights[i] = pull[i] > 0 && mode_of(mode_entry(x, s)) == Mode::sliding ? 0.0 : pull[i] * theta;
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
    const Rest rests = rest_in_box(A(held, held), force, -pull(held), -weights(held));
    for (std::size_t j = 0; j < held.size(); ++j) {
      weights[held[j]] = -rests.mu[static_cast<Index>(j)];
      place[static_cast<std::size_t>(held[j])] = rests.place[j];
    }
  };
  // That one goes on only makes it go faster, so the sweeps end; the limit is for rounding.
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

  std::vector<Surface> stuck;  // on the wrong side by less than counts, and not moving
  for (Index i = 0; i < n; ++i) {
    const Place at_place = place[static_cast<std::size_t>(i)];
    const Mode mode = at_place == Place::between ? Mode::sliding
                      : at_place == Place::high  ? Mode::above
                                                 : Mode::below;
    mode_entry(x, surface(i)) = static_cast<double>(mode);
    const double h = work.flow.h()(surface(i).first, surface(i).second);
    const double inside = mode == Mode::below ? -h : mode == Mode::above ? h : 0.0;
    if (inside < -0.5 * kSurface) stuck.push_back(surface(i));
  }
  back_onto(x, stuck, work);
}

}  // namespace popflow::joma_joint
