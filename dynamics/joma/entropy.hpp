#pragma once

#include <cstddef>
#include <span>

#include "dynamics/joma/attention.hpp"
#include "dynamics/joma/coordinates.hpp"
#include "dynamics/joma/observables.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma {

/// Entropy of the attention over all tokens, in passes on all threads.
class AttentionEntropy {
 public:
  /// All arguments must outlive the object.
  AttentionEntropy(const Coordinates& coordinates, const Attention& attention, std::size_t tokens,
                   Workers& workers)
      : coordinates_(coordinates), attention_(attention), tokens_(tokens), workers_(workers) {}

  /// Entropy of a state in nats; NaN if no token has attention.
  [[nodiscard]] double at(std::span<const double> x) const;
  /// Change of the entropy along the flow.
  [[nodiscard]] EntropyRate<double> rate(std::span<const double> x) const;

 private:
  /// The token with the largest attention, to which all others are compared: terms that are small
  /// relative to it are then small in every sum.
  struct Reference {
    double square = -1;  ///< S of the reference
    std::size_t token = 0;
  };
  [[nodiscard]] std::size_t pieces() const { return (tokens_ + kPiece - 1) / kPiece; }
  [[nodiscard]] Reference reference(std::span<const double> x) const;
  /// w_l = log(b_l/b_ref) without computing the large logarithms, and p_l = e^w_l.
  void shares(std::size_t count, const Reference& reference, const double* squares, double* w,
              double* p) const;
  /// d log(b_l)/dt in units of the reference's b.
  void rates(std::size_t count, const Reference& reference, const double* squares,
             const double* growths, const double* w, const double* p, double* out) const;

  const Coordinates& coordinates_;
  const Attention& attention_;
  std::size_t tokens_;
  Workers& workers_;
};

}  // namespace popflow::joma
