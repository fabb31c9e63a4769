#pragma once

#include <string>
#include <vector>

namespace popflow {

/// A mark on an axis.
struct Tick {
  double place = 0;  ///< from 0 to 1 along it
  std::string label;
};

/// Where numbers are along an axis, linear or logarithmic.
class Scale {
 public:
  /// From `low` to `high`; equal ones are moved apart. A logarithmic one needs both above 0, and
  /// has no place for values up to `floor`.
  Scale(double low, double high, bool logarithmic, double floor = 0);

  /// From 0 to 1 along the axis; outside of that beyond its ends, NaN where the axis has no place.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] bool logarithmic() const { return logarithmic_; }
  /// At round numbers, at most so many (but never none).
  [[nodiscard]] std::vector<Tick> ticks(std::size_t most) const;

 private:
  [[nodiscard]] double coordinate(double value) const;
  bool logarithmic_;
  double low_, high_;  ///< logarithms, where it is logarithmic
  double floor_;
};

/// Do numbers spread over so much that only a logarithm shows all of them? They must be above 0;
/// those within the rounding of the largest do not count.
bool asks_for_logarithm(const std::vector<double>& values);

/// Were the places chosen equally far apart in their logarithm? Four at least, all above 0.
bool spaced_by_factors(std::vector<double> places);

/// The scale that has all finite values on it. A logarithmic one has those above the rounding of
/// the largest in size: what lies below is no data. Where no value is above 0 the scale is linear.
Scale scale_of(const std::vector<double>& values, bool logarithmic);

}  // namespace popflow
