#pragma once

#include <span>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/statement.hpp"

namespace popflow {

/// Two questions about an observable along time: one of them, answered.
struct OverSaves {
  std::vector<Moments> moments;         ///< of each rung
  std::vector<Difference> differences;  ///< of each pair
  Statement statement;
};

/// Largest minus smallest; NaN where the values do not change but by rounding.
double range_of(std::span<const double> values);

/// Compares means over time with simultaneous bands against a margin (NaN: none).
OverSaves compare_over_time(Question question, const Subject& subject,
                            const std::vector<const Paths*>& paths,
                            const std::vector<Moments>& moments, double margin,
                            const ComparisonOptions& options, Workers& workers);

/// Compares geometric means: the means of log max(x, floor), whose difference is the logarithm of a
/// ratio; a rung with half of its runs or more at the floor is at the floor. `means` are the
/// observable's own moments.
OverSaves compare_depths(const ObservableInfo& info, const std::vector<const Paths*>& paths,
                         const std::vector<Moments>& means, const ComparisonOptions& options,
                         Workers& workers);

}  // namespace popflow
