#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "popflow/pack.hpp"

/// Means of smooth functions of few normal numbers by Gauss-Hermite rules, for models that see
/// data through few linear forms. Every sum runs in a fixed order, so that all machines give the
/// same bits.
namespace popflow::hermite {

/// Nodes and weights of a rule for the standard normal law, the largest weight first, with zeros up
/// to a whole pack. Points whose weight, a product, is below `cut` are left out.
struct Rule {
  double cut;
  std::size_t count;
  const double* node;
  const double* weight;
};

/// Takes the place of a rule along a direction without variance.
alignas(64) inline constexpr double kNoNode[kLanes] = {};
alignas(64) inline constexpr double kOneWeight[kLanes] = {1.0};
inline constexpr Rule kPoint{0.0, 1, kNoNode, kOneWeight};

/// Continues means to a direction of negative variance: the moments up to degree 5 are those of an
/// imaginary normal number. Solvers in coordinates of overlaps step out of the cone of covariances.
alignas(64) inline constexpr double kOutsideNode[kLanes] = {0, 1, -1, 2, -2};
alignas(64) inline constexpr double kOutsideWeight[kLanes] = {3, -7.0 / 6, -7.0 / 6, 1.0 / 6,
                                                              1.0 / 6};
inline constexpr Rule kOutside{0.0, 5, kOutsideNode, kOutsideWeight};

/// Cholesky factor of a covariance in an order of its numbers: number order[i] has the row i.
template <std::size_t size>
struct Factor {
  double root[size][size] = {};
  std::size_t order[size];
  const Rule* along[size];  ///< rule of each column

  /// Takes the upper triangle, row by row. Columns without variance beyond rounding have the rule
  /// kPoint, and those of negative variance kOutside. The order is the given one, except that a
  /// number of far smaller variance comes later: outside of the cone, its column would be singular.
  Factor(const Rule& rule, const double* covariance) {
    double of[size][size];
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = i; j < size; ++j) of[i][j] = of[j][i] = *covariance++;
    double left[size];  // variances that the columns so far leave
    for (std::size_t i = 0; i < size; ++i) {
      order[i] = i;
      left[i] = of[i][i];
    }
    for (std::size_t j = 0; j < size; ++j) {
      std::size_t pivot = j;
      for (std::size_t i = j + 1; i < size; ++i)
        if (left[order[i]] > kFarSmaller * std::abs(left[order[j]]) &&
            left[order[i]] > left[order[pivot]])
          pivot = i;
      std::swap(order[j], order[pivot]);
      std::swap(root[j], root[pivot]);
      const std::size_t own = order[j];
      along[j] = &kPoint;
      if (std::abs(left[own]) <= 1e-14 * of[own][own]) continue;
      root[j][j] = std::sqrt(std::abs(left[own]));
      along[j] = left[own] < 0 ? &kOutside : &rule;
      for (std::size_t i = j + 1; i < size && !(left[own] < 0); ++i) {
        double sum = of[order[i]][own];
        for (std::size_t k = 0; k < j; ++k) sum -= root[i][k] * root[j][k];
        // No entry of a covariance is beyond half of this bound.
        const double most = 2 * std::sqrt(kFarSmaller) * root[j][j];
        root[i][j] = std::clamp(sum / root[j][j], -most, most);
        left[order[i]] -= root[i][j] * root[i][j];
      }
    }
  }

 private:
  static constexpr double kFarSmaller = 16;
};

/// The mean of an integrand and its derivatives, in packs of 4 or lane after lane, with the same
/// bits. `Integrand` has `forms` numbers u ~ N(m, Q) and `beside` numbers t; `given` has m, the
/// upper triangle of Q, and t.
template <class Integrand>
struct MeanOf {
  static constexpr std::size_t kForms = Integrand::forms;
  static constexpr std::size_t kTriangle = kForms * (kForms + 1) / 2;
  static constexpr std::size_t kResults = 1 + kForms + kTriangle + Integrand::beside;

  template <std::size_t width>
  static POPFLOW_MATH_INLINE void compute(const Rule* rule, const double* given, double* out) {
    in_rows<BasicPack<width>, 1>(rule, given, out);
  }
  /// `each` numbers N are a row of kLanes lanes.
  template <class N, std::size_t each>
  static POPFLOW_MATH_INLINE void in_rows(const Rule* rule, const double* given, double* out) {
    constexpr std::size_t last = kForms - 1;
    const Factor<kForms> factor(*rule, given + kForms);
    const auto& [root, order, along] = factor;
    N u[kForms + Integrand::beside], values[kResults], sum[kResults][each];
    for (std::size_t i = 0; i < Integrand::beside; ++i)
      u[kForms + i] = N(given[kForms + kTriangle + i]);
    for (auto& row : sum)
      for (N& one : row) one = N(0.0);
    std::size_t place[kForms] = {};  // of the point, in all directions but the last
    for (;;) {
      double chance = 1;
      double centre[kForms];
      for (std::size_t i = 0; i < kForms; ++i) centre[i] = given[order[i]];
      for (std::size_t j = 0; j < last; ++j) {
        chance *= along[j]->weight[place[j]];
        for (std::size_t i = j; i < kForms; ++i) centre[i] += root[i][j] * along[j]->node[place[j]];
      }
      for (std::size_t i = 0; i < last; ++i) u[order[i]] = N(centre[i]);
      const N* const node = reinterpret_cast<const N*>(along[last]->node);
      const N* const weight = reinterpret_cast<const N*>(along[last]->weight);
      const double cut = rule->cut / std::abs(chance);
      const N step(root[last][last]), base(centre[last]), scale(chance);
      for (std::size_t k = 0; k * kLanes < along[last]->count; ++k) {
        if (std::abs(along[last]->weight[k * kLanes]) < cut) break;
        for (std::size_t part = 0; part < each; ++part) {
          u[order[last]] = base + step * node[k * each + part];
          Integrand::compute(u, values);
          const N chances = scale * weight[k * each + part];
          for (std::size_t i = 0; i < kResults; ++i) sum[i][part] += chances * values[i];
        }
      }
      std::size_t j = 0;
      while (j < last && ++place[j] == along[j]->count) place[j++] = 0;
      if (j == last) break;
    }
    for (std::size_t i = 0; i < kResults; ++i) {
      alignas(64) double lane[kLanes];
      std::copy_n(reinterpret_cast<const double*>(sum[i]), kLanes, lane);
      out[i] = 0;
      for (const double one : lane) out[i] += one;
    }
  }
};

/// The largest difference of two rules' results, relative to the larger of 1 and the result.
inline double change(std::size_t count, const double* one, const double* other) {
  double found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double relative = std::abs(one[i] - other[i]) / std::max(1.0, std::abs(other[i]));
    if (!(relative <= found) && !std::isnan(found)) found = relative;
  }
  return found;
}

}  // namespace popflow::hermite
