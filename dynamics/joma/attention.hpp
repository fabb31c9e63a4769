#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "dynamics/joma/token.hpp"
#include "popflow/workers.hpp"

namespace popflow::joma {

/// A number that does not exist.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Number of tokens in one task, and in one block of it that fits in the first-level cache.
inline constexpr std::size_t kPiece = std::size_t{1} << 14;
inline constexpr std::size_t kStretch = 512;

/// Calls body(begin, end, piece) for the pieces of [0, tokens) on all threads; returns the number
/// of pieces.
template <class Body>
std::size_t in_pieces(Workers& workers, std::size_t tokens, Body&& body) {
  const std::size_t pieces = (tokens + kPiece - 1) / kPiece;
  workers.run(pieces, tokens, [&](std::size_t piece) {
    const std::size_t begin = piece * kPiece;
    body(begin, tokens < begin + kPiece ? tokens : begin + kPiece, piece);
  });
  return pieces;
}

/// Attention b_l as a function of S_l = sum_k v_kl^2; it depends on v only through S_l.
struct Attention {
  enum class Kind {
    exponential,  ///< exp(S/(2 tau^2) + c)
    softmax,      ///< its softmax over tokens
    linear,       ///< sqrt(S + c)
  };
  Kind kind = Kind::exponential;
  double temperature = 1;  ///< tau
  double offset = 0;       ///< c
  /// Larger values of S/(2 tau^2) are replaced by this one (Joma::hold_rates).
  double highest_exponent = std::numeric_limits<double>::infinity();

  [[nodiscard]] double inverse() const { return 0.5 / temperature / temperature; }
  [[nodiscard]] AttentionNumbers<double> numbers() const {
    return {inverse(), offset, highest_exponent};
  }

  /// d log(b_l)/dS_l before any softmax, with respect to the token's own S_l; 0 if b_l is 0 or
  /// held.
  [[nodiscard]] double log_slope(double square) const;

  /// Overwrites S_l by b_l for exponential and linear attention.
  void apply(std::size_t count, double* values) const;
  /// Sum and largest exponent of one piece of a softmax, in which S_l is overwritten by exp(S_l/(2
  /// tau^2) - largest).
  struct Part {
    double largest = 0;
    double sum = 0;
  };
  [[nodiscard]] Part apply_softmax(std::size_t count, double* values) const;
  /// Computes the factor that turns each piece into its share of the softmax over all pieces.
  static void softmax_factors(std::vector<Part>& parts);  ///< overwrites `sum` by the factor
};

}  // namespace popflow::joma
