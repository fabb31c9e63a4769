#include "flow/passages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/common/newton_root.hpp"
#include "flow/interpolant.hpp"

namespace popflow {

namespace {

constexpr double kNotYet = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double first_root(std::span<const double> nodes, std::span<const double> values) {
  if (values[0] >= 0) return 0;
  std::size_t end = 1;
  while (end + 1 < nodes.size() && !(values[end] >= 0)) ++end;
  const double low = values[end - 1];
  const double high = values[end];
  if (!(low < 0) || !(high > 0)) return nodes[end];
  const Interpolant<kFinePassageNodes.size()> interpolant(nodes, values);
  const double begin = nodes[end - 1];
  const double secant = begin + (nodes[end] - begin) * (low / (low - high));
  return newton_root([&](double part) { return interpolant.at(part); }, begin, nodes[end], false,
                     secant);
}

Passages::Passages(const System& system)
    : events_(system.capabilities().events),
      times_(passage_items(system.info(), system.shape()), kNotYet),
      values_(times_.size(), kNotYet),
      values_new_(times_.size(), kNotYet) {}

void Passages::start(StateView x, double t) {
  if (times_.empty()) return;
  events_->passage_functions(x, t, values_);
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (values_[i] >= 0) times_[i] = t;
  count_left();
}

void Passages::restore(StateView x, double t, std::span<const double> times) {
  if (times_.empty()) return;
  std::copy(times.begin(), times.end(), times_.begin());
  events_->passage_functions(x, t, values_);
  count_left();
}

void Passages::count_left() {
  left_ = 0;
  for (std::size_t i = 0; i < times_.size(); ++i)
    left_ += std::isnan(times_[i]) && !std::isnan(values_[i]) ? 1 : 0;
}

void Passages::note(std::span<const Passed> passed) {
  for (const Passed& one : passed) {
    if (this->passed(one.item)) continue;
    times_[one.item] = one.t;
    --left_;
  }
}

bool Passages::step_to(StateView x_new, double t_new) {
  events_->passage_functions(x_new, t_new, values_new_);
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (values_new_[i] >= 0 && std::isnan(times_[i])) return true;
  values_.swap(values_new_);
  return false;
}

void Passages::locate(double t, double h, std::span<const double> nodes,
                      const std::function<StateView(double part)>& state_at) {
  std::vector<std::size_t> passing;
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (values_new_[i] >= 0 && std::isnan(times_[i])) passing.push_back(i);
  std::vector<double> values(passing.size() * nodes.size());  // item by item
  const auto note = [&](std::size_t node, const std::vector<double>& all) {
    for (std::size_t k = 0; k < passing.size(); ++k)
      values[k * nodes.size() + node] = all[passing[k]];
  };
  note(0, values_);
  note(nodes.size() - 1, values_new_);
  for (std::size_t node = 1; node + 1 < nodes.size(); ++node) {
    events_->passage_functions(state_at(nodes[node]), t + nodes[node] * h, values_new_);
    note(node, values_new_);
  }
  for (std::size_t k = 0; k < passing.size(); ++k)
    times_[passing[k]] = t + first_root(nodes, {&values[k * nodes.size()], nodes.size()}) * h;
  left_ -= passing.size();
}

void Passages::find(StateView x, double t, double h, StateView x_new, double t_new,
                    const std::function<StateView(double part)>& state_at) {
  events_->passage_functions(x, t, values_);
  if (step_to(x_new, t_new)) locate(t, h, kPassageNodes, state_at);
}

}  // namespace popflow
