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
  /// Reason why the verdict is undecided or, for `diverging`, why it is *differ* whatever the
  /// numbers are.
  enum class Reason {
    none,        ///< not undecided
    few_runs,    ///< too few runs to decide anything
    margin,      ///< the interval crosses the margin
    skewness,    ///< the interval crosses the margin, but that of Gaussian distributions would not
    no_scatter,  ///< all of a few runs have the same value
    many_tests,  ///< significant, but not after the correction for the number of tests
    incomplete,  ///< runs ended early
    beyond_end,  ///< too many runs have not had the event by the end: the interval is unbounded
    diverging,   ///< the fractions of diverged runs differ
    estimated,   ///< the error of an estimated population, which more runs do not reduce
  };
  Reason reason = Reason::none;
  /// Number of runs per rung with which most comparisons would decide, if undecided; NaN: unknown.
  double runs_needed = 0;
};
inline const std::vector<std::string> verdict_words = {"agree", "differ", "undecided"};
inline const std::vector<std::string> reason_words = {
    "none",       "few_runs",   "margin",     "skewness",  "no_scatter",
    "many_tests", "incomplete", "beyond_end", "diverging", "estimated"};

/// Undecided verdict with a reason, but without an estimate of the required runs.
Verdict undecided(Verdict::Reason reason);

/// Verdict on the difference of two rungs. `runs` is the smaller number of runs.
///
/// - agree: the simultaneous band of the difference lies within +-margin at all times.
/// - differ: the band lies beyond the margin at some time, and equal means are rejected at the
/// level. (With few runs the band can be too narrow; the test remains valid.)
/// - undecided: neither.
///
/// A test with fewer than `least` runs could not reject, so differences that may be chance count as
/// chance. A NaN margin, for an observable without a range, counts as 0. Times at which all of
/// fewer than least_without_scatter() runs have the same value do not suffice for a verdict.
Verdict verdict(const Difference& difference, double margin, double level, std::size_t runs,
                std::size_t least = 2);

/// Whether a p-value rejects at the level, with a tolerance. A p-value of permutations may be
/// exactly 1 - level, which rounding moves to either side (1 - 0.9 is less than 0.1 in binary).
bool rejects(double p_value, double level);

/// Smallest p-value that the test of difference() can give for m and n runs, or for n runs against
/// exact values (m = 0).
double smallest_p_value(double m, double n);
/// Smallest number of runs with which the test can reject at the level: runs per rung, or runs of
/// the rung that is not exact.
std::size_t least_runs(bool against_exact, double level);
/// Smallest number of runs with equal values from which an error of zero is accepted. If a tenth of
/// all runs had another value, this many runs would contain none of them with probability at most
/// (1 - level)/2.
std::size_t least_without_scatter(double level);

}  // namespace popflow
