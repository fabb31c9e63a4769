#pragma once

#include <span>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/statement.hpp"

namespace popflow {

/// Comparison of one observable over time, for one question.
struct OverSaves {
  std::vector<Moments> moments;         ///< per rung
  std::vector<Difference> differences;  ///< per pair
  Statement statement;
};

/// Returns the largest minus the smallest value; NaN if the values differ only by rounding.
double range_of(std::span<const double> values);

/// Compares means over time with simultaneous bands, against a margin (NaN: none).
OverSaves compare_over_time(Question question, const Subject& subject,
                            const std::vector<const Paths*>& paths,
                            const std::vector<Moments>& moments, double margin,
                            const ComparisonOptions& options, Workers& workers);

/// Compares geometric means: the means of log max(x, floor), whose difference is the logarithm of a
/// ratio. A rung with at least half of its runs at the floor counts as at the floor. Pairs also
/// differ if the means of each run's logarithms over the second half of the flow time do. These
/// scatter less than single times, and they lie within the margin if all single times do. `means`
/// are the observable's own moments.
OverSaves compare_depths(const ObservableInfo& info, const std::vector<const Paths*>& paths,
                         const std::vector<Moments>& means, const ComparisonOptions& options,
                         Workers& workers);

}  // namespace popflow
