#pragma once

#include <array>
#include <cmath>

#include "dynamics/topic/loss.hpp"

namespace popflow::topic {

/// A 2 x 2 block in the orthonormal basis (constant vector of the words, [MASK]), row-major.
template <class S>
using Block = std::array<S, 4>;

/// An (n+1) x (n+1) matrix that commutes with every permutation of words within topics and of
/// topics. Such a matrix has three parts:
///
/// - a multiple of the identity on vectors that sum to 0 within each topic (dimension T(v-1))
/// - another one on vectors that are constant within topics and sum to 0 (dimension T-1)
/// - a block on the constant vector of the words and [MASK]
///
/// Products and transposes act on each subspace separately, so the flow of factors that start as
/// multiples of the identity stays in this form.
template <class S>
struct Subspaces {
  S within;
  S between;
  Block<S> block;
};

template <class S>
Block<S> transpose(const Block<S>& a) {
  return {a[0], a[2], a[1], a[3]};
}
template <class S>
Block<S> multiply(const Block<S>& a, const Block<S>& b) {
  return {S(a[0] * b[0] + a[1] * b[2]), S(a[0] * b[1] + a[1] * b[3]), S(a[2] * b[0] + a[3] * b[2]),
          S(a[2] * b[1] + a[3] * b[3])};
}
template <class S>
Subspaces<S> multiply(const Subspaces<S>& a, const Subspaces<S>& b) {
  return {S(a.within * b.within), S(a.between * b.between), multiply(a.block, b.block)};
}
template <class S>
Subspaces<S> transpose(const Subspaces<S>& a) {
  return {a.within, a.between, transpose(a.block)};
}

/// Entries of a symmetric matrix by kind; rows are keys.
template <class S>
Logits<S> entries(const Subspaces<S>& a, const Data& data) {
  const double n = data.n(), v = data.v(), root = std::sqrt(n);
  // 1/v - 1/n without cancellation at T = 1.
  const S shared = a.between * ((data.T() - 1) / n) + a.block[0] / n;
  return {S(a.within * ((v - 1) / v) + shared),
          S(shared - a.within / v),
          S((a.block[0] - a.between) / n),
          S(a.block[2] / root),
          S(a.block[1] / root),
          a.block[3]};
}

template <class S>
Subspaces<S> subspaces(const Logits<S>& entry, const Data& data) {
  const double n = data.n(), v = data.v(), root = std::sqrt(n);
  const S topic = entry[logit_same_word] + (v - 1) * entry[logit_same_topic];
  return {
      S(entry[logit_same_word] - entry[logit_same_topic]),
      S(topic - v * entry[logit_other_topic]),
      {S(topic + v * (data.T() - 1) * entry[logit_other_topic]), S(root * entry[logit_word_key]),
       S(root * entry[logit_mask_key]), entry[logit_mask_mask]}};
}

/// Coefficient of a subspace; 0 by convention if the subspace has dimension 0.
template <class S>
void drop_empty(Subspaces<S>& a, const Data& data) {
  if (data.words_per_topic == 1) a.within = S(0.0);
  if (data.topics == 1) a.between = S(0.0);
}

/// Squared Frobenius norm of the full matrix.
inline double squared_norm(const Subspaces<double>& a, const Data& data) {
  double sum = data.T() * (data.v() - 1) * a.within * a.within;
  sum += (data.T() - 1) * a.between * a.between;
  for (const double entry : a.block) sum += entry * entry;
  return sum;
}

}  // namespace popflow::topic
