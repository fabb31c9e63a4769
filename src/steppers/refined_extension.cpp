#include "steppers/refined_extension.hpp"

#include <algorithm>
#include <cmath>

#include "popflow/math.hpp"
#include "steppers/algebra.hpp"
#include "steppers/within_step.hpp"

namespace popflow {

namespace {

using Operations = boost::numeric::odeint::default_operations;

constexpr std::size_t kPlaces = kSepticPlaces.size();
/// More would cost as much as to locate by steps.
constexpr int kMostSweeps = 6;
// In tolerances: what the next sweep may change, and what the polynomial may lack, which does not
// add up from step to step.
constexpr double kEnough = 0.25;
constexpr double kMostTruncation = 2;

/// The largest weight that an inner slope has anywhere in the step.
constexpr double largest_weight(std::size_t inner) {
  double largest = 0;
  for (int i = 1; i < 64; ++i) {
    const double weight = kSeptic.at(i / 64.0).slopes[inner + 1];
    largest = std::max(largest, weight < 0 ? -weight : weight);
  }
  return largest;
}
constexpr std::array<double, kPlaces> kLargestWeights = {largest_weight(0), largest_weight(1),
                                                         largest_weight(2), largest_weight(3)};

/// The first term that the polynomial lacks is zero at both ends, and its slope at all places and,
/// by symmetry, in the middle. So the slope that the polynomial has between two places, against the
/// one that belongs to its state there, tells of that term.
constexpr double kCheck = 1.0 / 12;
constexpr double slope_of_first_lacking(double part) {
  double slope = (part - 0.5) * part * (part - 1);
  for (const double place : kSepticPlaces) slope *= part - place;
  return slope;
}
/// The largest value of that term for a unit of its slope at kCheck.
constexpr double largest_lacking() {
  constexpr int kPieces = 600;
  double value = 0;
  double largest = 0;
  for (int i = 0; i < kPieces; ++i) {
    value += slope_of_first_lacking((i + 0.5) / kPieces) / kPieces;
    largest = std::max(largest, value < 0 ? -value : value);
  }
  const double at_check = slope_of_first_lacking(kCheck);
  return largest / (at_check < 0 ? -at_check : at_check);
}
constexpr double kTruncation = largest_lacking();

}  // namespace

void RefinedExtension::begin(const Step& step, State& scratch) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const double part = kSepticPlaces[i];
    within_step::cubic(workers_, step.x, step.h, step.x_new, step.first, step.last, part, scratch);
    inner_[i].resize(step.x.size());
    rhs_(scratch, inner_[i], step.t + part * step.h);
  }
}

void RefinedExtension::begin(const std::array<State*, kPlaces>& slopes) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    inner_[i].resize(slopes[i]->size());
    inner_[i].swap(*slopes[i]);
  }
}

bool RefinedExtension::refine(const Step& step, State& scratch) {
  slope_.resize(step.x.size());
  double before = 0;
  for (int sweep = 1; sweep <= kMostSweeps; ++sweep) {
    double change = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const double part = kSepticPlaces[i];
      between(step.x, step.h, step.x_new, step.first, step.last, part, scratch);
      rhs_(scratch, slope_, step.t + part * step.h);
      change += moves(step, kLargestWeights[i] * step.h, inner_[i], slope_);
      inner_[i].swap(slope_);
    }
    if (!std::isfinite(change)) return false;
    // What the next sweep would change, as far as they tell.
    const double ratio = sweep > 1 && change < before ? change / before : 1;
    if (change * ratio <= kEnough) return truncation(step, scratch) <= kMostTruncation;
    if (sweep > 1 && change * math::pow(ratio, kMostSweeps - sweep + 1) > kEnough) return false;
    before = change;
  }
  return false;
}

double RefinedExtension::moves(const Step& step, double weight, const State& a,
                               const State& b) const {
  StepError norm{tolerance_, step.x, step.x_new};
  ThreadedAlgebra(workers_).for_each3(norm, a, b, Operations::scale_sum2<double>(weight, -weight));
  return norm.value;
}

double RefinedExtension::truncation(const Step& step, State& scratch) {
  between(step.x, step.h, step.x_new, step.first, step.last, kCheck, scratch);
  rhs_(scratch, slope_, step.t + kCheck * step.h);
  const ExtensionWeights<kPlaces + 2> w = kSeptic.slope_at(kCheck);
  const double whole = kTruncation * step.h;
  const double by_end = kTruncation * w.end;
  StepError norm{tolerance_, step.x, step.x_new};
  ThreadedAlgebra(workers_).for_each10(
      norm, slope_, step.x, step.x_new, step.first, inner_[0], inner_[1], inner_[2], inner_[3],
      step.last,
      Operations::scale_sum9<double>(
          whole, by_end, -by_end, -whole * w.slopes[0], -whole * w.slopes[1], -whole * w.slopes[2],
          -whole * w.slopes[3], -whole * w.slopes[4], -whole * w.slopes[5]));
  return norm.value;
}

void RefinedExtension::between(const State& x, double h, const State& x_new, const State& first,
                               const State& last, double part, State& out) const {
  within_step::septic(workers_, x, h, x_new, first, inner_, last, part, out);
}

}  // namespace popflow
