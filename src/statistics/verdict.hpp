#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "statistics/difference.hpp"

namespace popflow {

/// Whether two rungs agree within a margin.
struct Verdict {
  enum class Kind { agree, differ, undecided };
  Kind kind = Kind::undecided;
  /// Why it is undecided.
  enum class Reason {
    none,        ///< it is decided
    few_runs,    ///< so few runs could decide nothing
    margin,      ///< the interval reaches over the margin
    skewness,    ///< it does so only because laws may be skewed: Gaussian ones would be decided
    no_scatter,  ///< all of a few runs have one value
    many_tests,  ///< it differs, but not among as many tests
    incomplete,  ///< runs ended before
  };
  Reason reason = Reason::none;
  /// Undecided: with about so many of each rung most comparisons would decide; NaN: unknown.
  double runs_needed = 0;
};
inline const std::vector<std::string> verdict_words = {"agree", "differ", "undecided"};
inline const std::vector<std::string> reason_words = {
    "none", "few_runs", "margin", "skewness", "no_scatter", "many_tests", "incomplete"};

/// Undecided for a reason, with no estimate of how many runs would decide.
Verdict undecided(Verdict::Reason reason);

/// agree: the simultaneous band of the difference lies within +-margin at all times. differ: at
/// some time it lies beyond, and equal means are rejected at the level (bands of a few runs can be
/// too narrow, the test is not). undecided: neither; `runs` is the smaller number at hand, and no
/// test of fewer than `least` could reject. A difference that may be chance is taken for chance
/// there. A margin of NaN, where the observable has no range, is 0. No verdict stands on times
/// alone at which all of fewer than least_without_scatter() runs have the same value.
Verdict verdict(const Difference& difference, double margin, double level, std::size_t runs,
                std::size_t least = 2);

/// Does a p-value reject at the level? Those of permutations may be exactly 1 - level, which
/// rounding puts on either side: in binary 1 - 0.9 is less than 0.1.
bool rejects(double p_value, double level);

/// The smallest p-value that the test of difference() can give of m and n runs, or of n against
/// exact values (m = 0).
double smallest_p_value(double m, double n);
/// The least number of runs, of both rungs or of the one that is not exact, of which it can reject
/// at the level.
std::size_t least_runs(bool against_exact, double level);
/// The least number of runs with one value from which an error of nothing is believed: a tenth of
/// all runs that had another would leave as many without one with probability (1 - level)/2 at
/// most.
std::size_t least_without_scatter(double level);

}  // namespace popflow
