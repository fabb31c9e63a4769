#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popflow/system.hpp"

namespace popflow::test {

/// System with many entries that start at 0, for tests of blocks. Each entry has its own slope,
/// with rates over four decades in random order; all entries pass the same level. Tests add an
/// event and, if needed, an interaction of the entries.
class Decades : public System, public Events, public Separable {
 public:
  struct Of {
    std::size_t entries;
    double slowest;  ///< smallest rate
    double level;
    EventInfo event;
    bool in_blocks;  ///< whether the system is Separable
  };
  explicit Decades(const Of& of) : level_(of.level), in_blocks_(of.in_blocks) {
    info_.name = "decades";
    info_.events = {of.event};
    info_.passages = {{"level", {"x_index"}, "t", "the level", "a test"}};
    shape_.blocks = {{"x", of.entries, 1.0}};
    shape_.dimensions = {{"x_index", of.entries, DimensionSpec::Coordinate::index, {}, {}}};
    shape_.events = {of.event.name};
    shape_.passages = {"level"};
    const auto n = static_cast<double>(of.entries);
    for (std::size_t i = 0; i < of.entries; ++i)
      rates_.push_back(of.slowest * std::pow(1e4, static_cast<double>(i * 389 % of.entries) / n));
    order_.resize(of.entries);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return rates_[a] < rates_[b]; });
  }

  [[nodiscard]] const SystemInfo& info() const override { return info_; }
  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] double default_end() const override { return 10; }
  [[nodiscard]] GroupSpec problem() const override { return {}; }
  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can;
    can.events = this;
    if (in_blocks_) can.separable = this;
    return can;
  }
  void start(std::span<double> x) const override { std::fill(x.begin(), x.end(), 0.0); }
  void rhs(StateView x, double t, std::span<double> dxdt) const override {
    for (std::size_t i = 0; i < x.size(); ++i) dxdt[i] = slope(i, x[i], t);
  }
  void observe(StateView /*x*/, double /*t*/, std::span<double> /*values*/) const override {}
  void field(std::string_view /*name*/, StateView x, double /*t*/,
             const FieldSink& sink) const override {
    sink(0, x);
  }
  void passage_functions(StateView x, double /*t*/, std::span<double> values) const override {
    for (std::size_t i = 0; i < x.size(); ++i) values[i] = x[i] - level_;
  }
  [[nodiscard]] std::span<const std::size_t> part_order() const override { return order_; }
  void part_rhs(std::size_t begin, std::span<const double> x, double t,
                std::span<double> dxdt) const override {
    for (std::size_t l = 0; l < x.size(); ++l) dxdt[l] = slope(order_[begin + l], x[l], t);
  }
  void part_passages(std::size_t /*begin*/, std::span<const double> x, double /*t*/,
                     std::span<double> values) const override {
    for (std::size_t l = 0; l < x.size(); ++l) values[l] = x[l] - level_;
  }

 protected:
  [[nodiscard]] virtual double slope(std::size_t i, double x, double t) const = 0;
  [[nodiscard]] double rate(std::size_t i) const { return rates_[i]; }

 private:
  double level_;
  bool in_blocks_;
  SystemInfo info_;
  Shape shape_;
  std::vector<double> rates_;
  std::vector<std::size_t> order_;
};

}  // namespace popflow::test
