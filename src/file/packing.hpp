#pragma once

#include <limits>
#include <span>
#include <vector>

namespace popflow::hdf5 {

/// How the stored numbers of a dataset become values, by the CF conventions: `_Unsigned`,
/// `_FillValue`, `missing_value`, `valid_min`, `valid_max`, `valid_range`, `scale_factor`,
/// `add_offset`. Missing values become NaN.
struct Packing {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double scale = 1, offset = 0;
  std::vector<double> missing;                  ///< stored numbers that stand for no value
  double least = -kInfinity, most = kInfinity;  ///< range of stored numbers that are values
  /// 2^bits if the type's sign is not that of the numbers, otherwise 0: numbers outside of
  /// [wrap_from, wrap_from + wrap) move by it.
  double wrap = 0, wrap_from = 0;

  /// Returns whether the stored numbers are the values.
  [[nodiscard]] bool plain() const;
  /// Returns the number that a stored one means, before scale and offset.
  [[nodiscard]] double wrapped(double stored) const;
  /// Turns stored numbers into values.
  void unpack(std::span<double> numbers) const;
};

}  // namespace popflow::hdf5
