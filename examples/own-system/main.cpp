// A program with a user's own system, made of functions. All commands of popflow work with it.
//
//   product run product -o run.h5
//   product compare product --learning-rate 0.05 --batch-size 4
//   product verify product

#include <cmath>

#include "popflow/function_system.hpp"
#include "popflow/pack.hpp"
#include "popflow/program.hpp"

namespace {

using State = std::span<const double>;

// Formulas for a single problem or for many side by side (SIMD lanes); of[0] is the slope.
constexpr auto learn = [](auto of, auto x, auto dxdt) {
  const auto error = of[0] - x[0] * x[1];
  dxdt[0] = x[1] * error;
  dxdt[1] = x[0] * error;
};
constexpr auto half_learned = [](auto of, auto x, auto values) {
  values[0] = x[0] * x[1] / of[0] - 0.5;
};

/// Two scalar weights in a row learn the slope of a line: the smallest deep network. Samples are
/// x ~ N(0, 1) and y = slope x + noise, the loss is E (y - a b x)^2 / 2.
popflow::Functions product(const popflow::Parameters& own, const popflow::Setting&) {
  const double slope = own.real("slope"), noise = own.real("label-noise");
  const double a = own.real("a0"), b = own.real("b0");

  popflow::Functions f;
  f.state = {{"a", {a}, "weight of the first layer"}, {"b", {b}, "weight of the second layer"}};
  f.rhs = popflow::alone(learn, {slope});
  f.lanes = {
      .of = {slope}, .rhs = popflow::in_lanes(learn), .events = popflow::in_lanes(half_learned)};
  f.loss = [=](State x, double) {
    return 0.5 * (std::pow(slope - x[0] * x[1], 2) + noise * noise);
  };
  f.observables = {
      {"product", "slope of the network, a b", [](State x, double) { return x[0] * x[1]; }}};
  f.invariants = {
      {"balance", "a^2 - b^2", [](State x, double) { return x[0] * x[0] - x[1] * x[1]; }}};
  f.events = {{"half", "half of the slope is learned",
               [=](State x, double) { return x[0] * x[1] / slope - 0.5; }}};
  f.sample = [=](State x, popflow::RandomStream& random, double weight, std::span<double> out) {
    const double input = random.normal();
    const double error = (slope - x[0] * x[1]) * input + noise * random.normal();
    out[0] += weight * error * input * x[1];
    out[1] += weight * error * input * x[0];
  };
  return f;
}

popflow::FunctionSystem product_system() {
  return {.name = "product",
          .title = "two scalar weights that learn a slope",
          .source = "the smallest deep linear network",
          .equations = "da/dt = b (slope - a b),  db/dt = a (slope - a b)",
          .parameters = {{.name = "slope",
                          .kind = popflow::Kind::real,
                          .default_text = "1",
                          .meaning = "slope of the teacher",
                          .range = {.low = 0, .low_open = true}},
                         {.name = "label-noise",
                          .kind = popflow::Kind::real,
                          .default_text = "0.1",
                          .meaning = "standard deviation of the label noise",
                          .range = {.low = 0}},
                         {"a0", popflow::Kind::real, "0.5", "start of a"},
                         {"b0", popflow::Kind::real, "0.1", "start of b"}},
          .functions = product};
}

}  // namespace

int main(int argc, char** argv) {
  return popflow::run_program(argc, argv, popflow::Catalogue({product_system()}));
}
