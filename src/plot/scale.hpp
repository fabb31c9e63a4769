#pragma once

#include <string>
#include <vector>

namespace popflow {

/// Tick on an axis.
struct Tick {
  double place = 0;  ///< position along the axis, from 0 to 1
  std::string label;
};

/// Maps numbers to positions along an axis, linear or logarithmic.
class Scale {
 public:
  /// Scale from `low` to `high`; equal ends are moved apart. On a logarithmic scale both must be
  /// above 0, and values up to `floor` have no position.
  Scale(double low, double high, bool logarithmic, double floor = 0);

  /// Position along the axis, from 0 to 1; below 0 or above 1 for values beyond the ends. NaN for
  /// values without a position.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] bool logarithmic() const { return logarithmic_; }
  /// Ticks at round numbers: at most `most`, but at least one.
  [[nodiscard]] std::vector<Tick> ticks(std::size_t most) const;

 private:
  [[nodiscard]] double coordinate(double value) const;
  bool logarithmic_;
  double low_, high_;  ///< logarithms if the scale is logarithmic
  double floor_;
};

/// Whether the numbers spread so widely that only a logarithmic axis shows all of them. The numbers
/// must be above 0; numbers within rounding of the largest are ignored.
bool needs_logarithm(const std::vector<double>& values);

/// Whether the places were chosen at equal ratios. Needs at least four places, all above 0.
bool spaced_by_factors(std::vector<double> places);

/// Scale for all finite values. A logarithmic scale covers only values above the rounding of the
/// largest magnitude, because smaller ones are not data. If no value is above 0, the scale is
/// linear.
Scale scale_of(const std::vector<double>& values, bool logarithmic);

}  // namespace popflow
