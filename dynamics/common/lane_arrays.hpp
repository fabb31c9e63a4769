#pragma once

#include <Eigen/Core>
#include <cmath>
#include <type_traits>

#include "popflow/lanes.hpp"

namespace popflow {

/// Maximum size of an array in a formula: arrays of lanes are stored in place and need no heap;
/// those of a single trajectory are unlimited.
template <class Number>
inline constexpr int kMostNumbers =
    std::is_same_v<Number, double> ? Eigen::Dynamic : int{kLargestInLanes};
/// Maximum number of rows and columns of a square matrix whose entries are all in the state.
template <class Number>
inline constexpr int kMostRows = std::is_same_v<Number, double> ? Eigen::Dynamic : 8;
static_assert(kMostRows<float> * kMostRows<float> >= kLargestInLanes);

/// Eigen's option for the alignment of arrays. Packs declare a larger alignment than Eigen's, so
/// Eigen sets none for their arrays.
template <class Number>
inline constexpr int kAlignment =
    std::is_same_v<Number, double> ? int{Eigen::AutoAlign} : int{Eigen::DontAlign};

/// Array types for formulas, the same for a single trajectory and for lanes.
template <class Number>
using NumberArray =
    Eigen::Array<Number, Eigen::Dynamic, 1, kAlignment<Number>, kMostNumbers<Number>, 1>;
template <class Number>
using NumberMatrix =
    Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor | kAlignment<Number>,
                  kMostRows<Number>, kMostRows<Number>>;

}  // namespace popflow
