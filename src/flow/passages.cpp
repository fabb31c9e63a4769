#include "flow/passages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "flow/interpolant.hpp"
#include "numerics/bracketed_root.hpp"
#include "numerics/newton_root.hpp"

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

std::optional<ZeroStretch> zero_stretch(std::span<const double> values) {
  std::size_t first = 0;
  while (first + 1 < values.size() && !(values[first] >= 0)) ++first;
  const bool stays = first + 1 == values.size() || values[first + 1] == 0;
  if (first == 0 || values[first] != 0 || !stays || !(values[first - 1] < 0)) return std::nullopt;
  return ZeroStretch{first - 1, first};
}

Passages::Passages(const System& system, Capability<Events> events)
    : events_(std::move(events)),
      times_(passage_items(system.info(), system.shape()), kNotYet),
      values_(times_.size(), kNotYet),
      values_new_(times_.size(), kNotYet) {}

void Passages::start(StateView x, double t) {
  if (times_.empty()) return;
  events_->passage_functions(x, t, values_);
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
    if (passes(i)) return true;
  values_.swap(values_new_);
  return false;
}

std::vector<std::size_t> Passages::passing() const {
  std::vector<std::size_t> passing;
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (passes(i)) passing.push_back(i);
  return passing;
}

void Passages::locate(double t, double h, const std::function<StateView(double part)>& state_at) {
  constexpr std::size_t kNodes = kPassageNodes.size();
  const std::vector<std::size_t> passing = this->passing();
  std::vector<double> values(passing.size() * kNodes);  // item-major
  const auto note = [&](std::size_t node, const std::vector<double>& all) {
    for (std::size_t k = 0; k < passing.size(); ++k) values[k * kNodes + node] = all[passing[k]];
  };
  note(0, values_);
  note(kNodes - 1, values_new_);
  for (std::size_t node = 1; node + 1 < kNodes; ++node) {
    events_->passage_functions(state_at(kPassageNodes[node]), t + kPassageNodes[node] * h,
                               values_new_);
    note(node, values_new_);
  }
  for (std::size_t k = 0; k < passing.size(); ++k) {
    const std::span<const double> of_item(&values[k * kNodes], kNodes);
    const std::optional<ZeroStretch> zeros = zero_stretch(of_item);
    const double part =
        zeros ? begin_of_zeros(passing[k], t, h, kPassageNodes[zeros->before],
                               of_item[zeros->before], kPassageNodes[zeros->zero], state_at)
              : first_root(kPassageNodes, of_item);
    times_[passing[k]] = t + part * h;
  }
  left_ -= passing.size();
}

double Passages::begin_of_zeros(std::size_t item, double t, double h, double low, double at_low,
                                double high,
                                const std::function<StateView(double part)>& state_at) {
  const auto value = [&](double part) {
    events_->passage_functions(state_at(part), t + part * h, values_new_);
    const double there = values_new_[item];
    return std::isnan(there) ? 1.0 : there;
  };
  return first_reached(value, low, high, at_low, 0).second;
}

namespace {

/// Halving the interval should reduce the polynomial's last term by 2^8. If it decreases by less
/// than this factor, rounding or errors of the states dominate the term.
constexpr double kSmallerByHalf = 8;
constexpr int kMostHalvings = 6;

/// Part of a step with the items that pass in it. Each item has its index among the passing items
/// and an estimate of the polynomial's error over twice this part, as a fraction of the step.
struct Stretch {
  double begin, end;
  int halvings;
  struct Item {
    std::size_t passing;
    double doubt;
  };
  std::vector<Item> items;
};

}  // namespace

void Passages::locate_closely(double t, double h, double error,
                              const std::function<StateView(double part)>& state_at) {
  constexpr std::size_t kNodes = kFinePassageNodes.size();
  const std::vector<std::size_t> passing = this->passing();
  // Values of the passing items, by fraction of the step.
  std::map<double, std::vector<double>> known;
  const auto note = [&](double part, const std::vector<double>& all) {
    std::vector<double>& values = known[part];
    for (const std::size_t item : passing) values.push_back(all[item]);
  };
  note(0, values_);
  note(1, values_new_);
  Stretch whole = {0, 1, 0, {}};
  for (std::size_t k = 0; k < passing.size(); ++k)
    whole.items.push_back({k, std::numeric_limits<double>::infinity()});
  std::vector<Stretch> stretches = {std::move(whole)};  // stack; the last one is the first in time
  std::array<double, kNodes> nodes;
  std::array<const std::vector<double>*, kNodes> known_there;
  std::array<double, kNodes> values;
  while (!stretches.empty()) {
    const Stretch here = std::move(stretches.back());
    stretches.pop_back();
    const double middle = here.begin + (here.end - here.begin) / 2;
    for (std::size_t node = 0; node < kNodes; ++node) {
      nodes[node] = here.begin + kFinePassageNodes[node] * (here.end - here.begin);
      if (known.count(nodes[node]) == 0) {
        events_->passage_functions(state_at(nodes[node]), t + nodes[node] * h, values_new_);
        note(nodes[node], values_new_);
      }
      known_there[node] = &known[nodes[node]];
    }
    Stretch first = {here.begin, middle, here.halvings + 1, {}};
    Stretch second = {middle, here.end, here.halvings + 1, {}};
    for (const auto [k, before] : here.items) {
      for (std::size_t node = 0; node < kNodes; ++node) values[node] = (*known_there[node])[k];
      if (const std::optional<ZeroStretch> zeros = zero_stretch(values)) {
        times_[passing[k]] =
            t + h * begin_of_zeros(passing[k], t, h, nodes[zeros->before], values[zeros->before],
                                   nodes[zeros->zero], state_at);
        continue;
      }
      const double part = first_root(nodes, values);
      times_[passing[k]] = t + part * h;
      const double doubt = Interpolant<kNodes>(nodes, values).root_error(part);
      if (doubt > error && doubt < before / kSmallerByHalf && here.halvings < kMostHalvings)
        (part <= middle ? first : second).items.push_back({k, doubt});
    }
    for (Stretch* half : {&second, &first})
      if (!half->items.empty()) stretches.push_back(std::move(*half));
  }
  left_ -= passing.size();
}

void Passages::find(StateView x, double t, double h, StateView x_new, double t_new,
                    const std::function<StateView(double part)>& state_at,
                    std::optional<double> error) {
  events_->passage_functions(x, t, values_);
  if (!step_to(x_new, t_new)) return;
  if (error)
    locate_closely(t, h, *error, state_at);
  else
    locate(t, h, state_at);
  step_to(x_new, t_new);
}

}  // namespace popflow
