#pragma once

#include <cmath>
#include <string_view>

#include "popflow/lanes.hpp"
#include "popflow/system.hpp"

namespace popflow::test {

/// System x = t in lanes, without noise. Its events and the items of its passage have the same
/// functions, which cross zero upwards at `kCrossings` (NaN: never): one is zero at the start and
/// then positive, one is zero and then negative, one is positive, and the others are negative. The
/// last two must follow those that are zero or positive at the start; they stand in front of and
/// behind the events that they follow.
class Clock final : public System, public InLanes, public Events, public Covariance {
 public:
  static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kCrossings[] = {0.305, kNever, 0.505, 0.705, 0.405, 0.605};

  explicit Clock(bool passages) {
    info_.name = "clock";
    shape_.blocks = {{"x", 1, 1}};
    const std::pair<const char*, const char*> events[] = {{"follows", "left"}, {"left", ""},
                                                          {"zero", ""},        {"again", ""},
                                                          {"once", ""},        {"later", "again"}};
    for (const auto& [name, after] : events) {
      info_.events.push_back({name, "", after});
      shape_.events.emplace_back(name);
    }
    if (!passages) return;
    info_.passages = {{"passed", {"item"}, "", "", ""}};
    shape_.passages = {"passed"};
    shape_.dimensions.push_back({"item", 6, DimensionSpec::Coordinate::index, {}, {}});
  }
  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.in_lanes = this;
    can.events = this;
    can.covariance = this;
    return can;
  }
  void start(std::span<double> x) const override { x[0] = 0; }
  void rhs(StateView, double, std::span<double> dxdt) const override { dxdt[0] = 1; }
  void observe(StateView, double, std::span<double>) const override {}
  void field(std::string_view, StateView, double, const FieldSink&) const override {}
  [[nodiscard]] double default_end() const override { return 1; }
  void event_functions(StateView x, double, std::span<double> values) const override {
    write(x[0], values.data(), 1);
  }
  void passage_functions(StateView x, double, std::span<double> values) const override {
    write(x[0], values.data(), 1);
  }
  void covariance(StateView, double, Eigen::Ref<Eigen::MatrixXd> c) const override { c.setZero(); }
  void lane_parameters(std::span<double>) const override {}
  [[nodiscard]] const LaneFormulas& lane_formulas() const override {
    const auto functions = [](const LaneSizes&, const double*, const double* x, double* values) {
      for (std::size_t l = 0; l < kLanes; ++l) write(x[l], values + l, kLanes);
    };
    static const LaneFormulas formulas{.sizes = {0, 1},
                                       .flow = [](const LaneSizes&, const double*, const double*,
                                                  double* dxdt) { std::fill_n(dxdt, kLanes, 1.0); },
                                       .flow_and_covariance =
                                           [](const double*, const double*, double* f, double* c) {
                                             std::fill_n(f, kLanes, 1.0);
                                             std::fill_n(c, kLanes, 0.0);
                                           },
                                       .events = functions,
                                       .passages = functions};
    return formulas;
  }

 private:
  static void write(double t, double* values, std::size_t stride) {
    values[0] = t - kCrossings[0];
    values[stride] = t;
    values[2 * stride] = t * (t - kCrossings[2]);
    values[3 * stride] = std::abs(t - 0.5) - (kCrossings[3] - 0.5);
    values[4 * stride] = t - kCrossings[4];
    values[5 * stride] = t - kCrossings[5];
  }
  SystemInfo info_;
  Shape shape_;
};

}  // namespace popflow::test
