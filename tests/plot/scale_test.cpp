#include "plot/scale.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace popflow {
namespace {

std::vector<std::string> labels(const Scale& scale, std::size_t most) {
  std::vector<std::string> labels;
  for (const Tick& tick : scale.ticks(most)) labels.push_back(tick.label);
  return labels;
}

TEST_CASE("a linear axis has its ticks at round numbers", "[plot][fast]") {
  const Scale scale(0, 10, false);
  CHECK(scale.place(0) == 0);
  CHECK(scale.place(2.5) == 0.25);
  CHECK(scale.place(10) == 1);
  CHECK(labels(scale, 6) == std::vector<std::string>{"0", "2", "4", "6", "8", "10"});
  CHECK(labels(scale, 3) == std::vector<std::string>{"0", "5", "10"});
  CHECK(labels(Scale(-0.37, 0.61, false), 6) ==
        std::vector<std::string>{"-0.2", "0", "0.2", "0.4", "0.6"});
}

TEST_CASE("a logarithmic axis has its ticks at whole decades", "[plot][fast]") {
  const Scale scale(1e-4, 1e4, true);
  CHECK(scale.place(1) == Approx(0.5));
  CHECK(std::isnan(scale.place(0)));
  CHECK(std::isnan(scale.place(-1)));
  CHECK(labels(scale, 5) == std::vector<std::string>{"0.0001", "0.01", "1", "100", "10000"});
  // A range within one decade has too few whole decades, so its ticks are other round numbers.
  CHECK(labels(Scale(2, 5, true), 4) == std::vector<std::string>{"2", "3", "4", "5"});
}

TEST_CASE("close ticks have enough digits to differ", "[plot][fast]") {
  for (const bool logarithmic : {false, true})
    CHECK(labels(Scale(0.6717889, 0.6717914, logarithmic), 4) ==
          std::vector<std::string>{"0.671789", "0.67179", "0.671791"});
  CHECK(labels(Scale(100'000.02, 100'000.31, false), 4) ==
        std::vector<std::string>{"100000.1", "100000.2", "100000.3"});
  CHECK(labels(Scale(0.6717884, 0.6717894, false), 3) ==
        std::vector<std::string>{"0.6717885", "0.671789"});
  CHECK(labels(Scale(-5, 5, false), 3) == std::vector<std::string>{"-5", "0", "5"});
}

TEST_CASE("every axis has ticks, even for a single value", "[plot][fast]") {
  for (const double value : {0.0, 1.0, -3.25e7, 1e-300}) {
    const Scale scale(value, value, false);
    CHECK(scale.place(value) == Approx(0.5));
    CHECK(!scale.ticks(4).empty());
  }
  CHECK(Scale(7, 7, true).place(7) == Approx(0.5));
  const std::vector<double> none = {NAN, INFINITY};
  CHECK(std::isfinite(scale_of(none, false).place(1)));
}

TEST_CASE("logarithmically spaced places are distinguished from evenly spaced ones",
          "[plot][fast]") {
  CHECK(spaced_by_factors({1, 2, 4, 8, 16}));
  CHECK(spaced_by_factors({1e5, 100, 1e4, 1000}));
  CHECK_FALSE(spaced_by_factors({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  CHECK_FALSE(spaced_by_factors({2, 4, 8}));  // too few to decide
  CHECK_FALSE(spaced_by_factors({0, 1, 10, 100, 1000}));
}

TEST_CASE("numbers over several decades need a logarithmic axis", "[plot][fast]") {
  CHECK(needs_logarithm({1, 1e-3}));
  CHECK(needs_logarithm({1, NAN, 1e3}));
  CHECK_FALSE(needs_logarithm({1, 100}));
  CHECK_FALSE(needs_logarithm({0, 1, 1000}));
  CHECK_FALSE(needs_logarithm({-1, 1000}));
}

TEST_CASE("values within the rounding of the largest are left out of a logarithmic axis",
          "[plot][fast]") {
  // An observable whose start is a rounding error of zero.
  const std::vector<double> values = {6e-33, 1e-5, 0.5};
  const Scale scale = scale_of(values, true);
  CHECK(scale.logarithmic());
  CHECK(std::isnan(scale.place(6e-33)));
  CHECK(std::isnan(scale.place(1e-17)));
  CHECK(scale.place(1e-5) == Approx(0).margin(1e-12));
  CHECK(scale.place(0.5) == Approx(1));
  // The largest value in size sets the rounding, whatever its sign.
  CHECK(std::isnan(scale_of({-1e20, 1, 1e10}, true).place(1)));
  CHECK(scale_of({-1e20, 1, 1e10}, true).place(1e10) == Approx(0.5));
  // If all values are small they are data.
  CHECK(std::isfinite(scale_of({6e-33, 1e-30}, true).place(6e-33)));
  // A linear axis shows all values.
  CHECK(scale_of(values, false).place(6e-33) == Approx(0).margin(1e-12));
}

TEST_CASE("rounding errors alone need no logarithmic axis", "[plot][fast]") {
  CHECK_FALSE(needs_logarithm({6e-33, 0.5, 0.6}));
  CHECK(needs_logarithm({6e-33, 1e-5, 0.6}));
}

TEST_CASE("data without positive values have a linear axis", "[plot][fast]") {
  const std::vector<std::vector<double>> of_nothing = {{0, 0, 0}, {-1, 0}, {NAN}, {}};
  for (const std::vector<double>& values : of_nothing) {
    const Scale scale = scale_of(values, true);
    CHECK_FALSE(scale.logarithmic());
    CHECK(std::isfinite(scale.place(0)));
    CHECK(!scale.ticks(4).empty());
  }
}

}  // namespace
}  // namespace popflow
