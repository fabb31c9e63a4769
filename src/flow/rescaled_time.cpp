#include "flow/rescaled_time.hpp"

#include <algorithm>
#include <cstdint>

#include "flow/interpolant.hpp"
#include "numerics/bracketed_root.hpp"

namespace popflow {

using std::size_t;

void RescaledTime::begin(size_t blocks) {
  blocks_.resize(blocks);
  for (std::vector<Taken>& steps : blocks_) steps.clear();
}

void RescaledTime::add(size_t block, const Step& step) {
  std::vector<Taken>& steps = blocks_[block];
  Taken taken{step};
  for (size_t j = 0; j + 1 < dopri5::kStages; ++j)
    taken.growth += dopri5::kTableau[dopri5::kStages - 2][j] * step.slopes[j];
  taken.growth *= step.length;
  if (!steps.empty()) taken.grown = steps.back().grown + steps.back().growth;
  steps.push_back(taken);
}

double RescaledTime::elapsed(double tau) const {
  double sum = 0;
  for (const std::vector<Taken>& steps : blocks_) {
    const auto next = std::upper_bound(steps.begin(), steps.end(), tau,
                                       [](double at, const Step& one) { return at < one.begin; });
    const Taken& step = next == steps.begin() ? *next : *(next - 1);
    const double done = tau - step.begin;
    sum += step.grown + (done == step.length ? step.growth
                                             : dopri5::between(0, step.growth, step.length,
                                                               step.slopes, done / step.length));
  }
  return sum;
}

double RescaledTime::when_elapsed(double h, double end) const {
  const auto left = [&](double tau) { return elapsed(tau) - h; };
  const double at_end = left(end);
  if (!(at_end > 0)) return end;
  const auto [low, high] = bracketed_root(left, 0, end, -h, at_end);
  return low + 0.5 * (high - low);
}

// ---- table of flow times

namespace {
constexpr double kPerStep = 3;
constexpr size_t kDegree = 5;
}  // namespace

/// Nodes of the table. Their spacing is a third of the shortest step that any block takes there.
std::vector<double> RescaledTime::places(double end) const {
  std::vector<size_t> current(blocks_.size());
  std::vector<double> places = {0};
  for (double tau = 0;;) {
    double shortest = end;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const std::vector<Taken>& steps = blocks_[b];
      size_t& step = current[b];
      while (step + 1 < steps.size() && steps[step + 1].begin <= tau) ++step;
      shortest = std::min(shortest, steps[step].length);
    }
    tau += shortest / kPerStep;
    if (end - tau < 0.5 * shortest / kPerStep) break;  // avoids two nodes that almost coincide
    places.push_back(tau);
  }
  while (places.size() < kDegree) places.push_back(0.5 * (places.back() + end));
  places.push_back(end);
  return places;
}

RescaledTime::Table::Table(const RescaledTime& clock, double end, Workers& workers)
    : places_(clock.places(end)), elapsed_(places_.size()) {
  workers.run(places_.size(), places_.size() * clock.blocks_.size(),
              [&](size_t i) { elapsed_[i] = clock.elapsed(places_[i]); });
}

double RescaledTime::Table::elapsed(double tau) const {
  // Nearest nodes, as many before tau as after it where they exist.
  const auto behind =
      static_cast<size_t>(std::upper_bound(places_.begin(), places_.end(), tau) - places_.begin());
  constexpr size_t kNodes = kDegree + 1;
  const size_t first = std::min(std::max(behind, kNodes / 2) - kNodes / 2, places_.size() - kNodes);
  return Interpolant<kNodes>({&places_[first], kNodes}, {&elapsed_[first], kNodes}).at(tau).value;
}

}  // namespace popflow
