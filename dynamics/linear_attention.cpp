#include "dynamics/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "dynamics/common/lane_arrays.hpp"
#include "dynamics/common/normals.hpp"
#include "popflow/error.hpp"
#include "popflow/function_system.hpp"
#include "popflow/math.hpp"
#include "popflow/pack.hpp"

namespace popflow::linear_attention {
namespace {

using Eigen::ArrayXd, Eigen::VectorXd;
using Numbers = std::span<const double>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr const char* kEquations =
    R"(Data. A prompt has a task w ~ N(0, I), N pairs (x_i, y_i) with x_i ~ N(0, Lambda) and y_i =
w'x_i, and a query x with the distribution of the x_i; w'x is to be predicted. Everything is written
in the eigenbasis of Lambda.
Model. One layer of linear self-attention over the tokens (x_1,y_1), ..., (x_N,y_N), (x,0). From the
start below only U = W^KQ_11 and u = w^PV_22 move. The prediction is u h'U x with
h = sum_i y_i x_i / N.

Population loss and flow (Lemmas 5.1, 5.2). With Gamma = (1 + 1/N) Lambda + tr(Lambda)/N I
  L = E (u h'U x - w'x)^2 / 2 = L_min + sum_ij a_ij (u U_ij - b_ij)^2 / 2,   b = Gamma^-1,
  a_ij = gamma_i lambda_i lambda_j,   L_min = sum_i lambda_i (lambda_i + tr Lambda) / (2 N gamma_i)
  dU/dt = -u G,   du/dt = -tr(G U'),   G_ij = a_ij (u U_ij - b_ij)
The start is u = sigma, U = sigma Theta Theta' with |Theta Theta'|_F = 1; Theta is a multiple of I
or has normal entries.

Exact results. tr(U U') - u^2 is conserved; from this start it is 0. The limit is the global minimum
with this balance, U = [tr Gamma^-2]^(-1/4) Gamma^-1, u = [tr Gamma^-2]^(1/4) (Theorem 4.1, proved
for sigma^2 |Gamma|_op sqrt d < 2). A diagonal U stays diagonal, so --coordinates diagonal (d + 1
numbers) is exact. On prompts of M pairs the loss is L with M in place of N. At the limit, and for
large M, this loss is sum_i lambda_i (1 - lambda_i/gamma_i)^2 / 2, of order 1/N^2 (Theorem 4.2).

What to expect. The loss stays on a plateau at L = tr(Lambda)/2, which the state leaves along
U ~ Lambda^2 at the rate |Lambda^2|_F.
Sampled model. A sample is a prompt; its gradient is with respect to U and u alone.)";

/// Stored part of U: all entries row by row, or the diagonal.
ArrayXd stored(const Matrix& all, bool full) {
  return full ? ArrayXd(all.reshaped<Eigen::RowMajor>()) : ArrayXd(all.diagonal());
}

// ---- Formulas, for one problem or many side by side. A state is u, followed by the stored part of
// U.

template <class Number>
using Entries = Eigen::Map<const NumberArray<Number>>;

template <class Number>
Entries<Number> stored(std::span<const Number> x) {
  return {x.data() + 1, std::ssize(x) - 1};
}

/// factor * array. For lanes it avoids Eigen's constant array, which lacks their alignment.
template <class Number, class Array>
auto times(const Number& factor, const Array& array) {
  if constexpr (std::is_same_v<Number, double>)
    return factor * array;
  else
    return array.unaryExpr([factor](const Number& x) { return factor * x; });
}

/// Sum over the stored entries in L = least + sum_k a_k (u U_k - b_k)^2 / 2.
template <class Number>
struct Terms {
  /// `of` holds all a, all b, and the level of the event.
  explicit Terms(std::span<const Number> of)
      : a(of.data(), std::ssize(of) / 2), b(of.data() + a.size(), a.size()), level(of.back()) {}

  [[nodiscard]] auto errors(std::span<const Number> x) const { return times(x[0], stored(x)) - b; }
  [[nodiscard]] Number excess(std::span<const Number> x) const {
    return (a * errors(x).square()).sum() / 2;
  }

  Entries<Number> a, b;
  const Number& level;
};

/// Adds minus the gradient with respect to u and U, where G is the gradient with respect to u U.
template <class Number, class Array>
void descend(std::span<const Number> x, const Array& G, Number* out) {
  out[0] -= (G * stored(x)).sum();
  Eigen::Map<NumberArray<Number>>(out + 1, G.size()) -= times(x[0], G);
}

constexpr auto flow = [](auto of, auto x, auto dxdt) {
  const Terms terms(of);
  std::fill_n(dxdt, x.size(), 0);
  descend(x, terms.a * terms.errors(x), dxdt);
};

constexpr auto events = [](auto of, auto x, auto values) {
  const Terms terms(of);
  values[0] = terms.level - terms.excess(x);
};

/// Loss on prompts of N pairs.
struct Loss {
  Loss(const ArrayXd& lambda, double N, bool full) {
    const ArrayXd gamma = (1 + 1 / N) * lambda + lambda.sum() / N;
    a = stored((gamma * lambda).matrix() * lambda.matrix().transpose(), full);
    b = stored(gamma.inverse().matrix().asDiagonal(), full);
    least = (lambda * (lambda + lambda.sum()) / gamma).sum() / (2 * N);
    const double untrained = lambda.sum() / 2 - least;  // excess loss of U = 0
    of.assign(a.begin(), a.end());
    of.insert(of.end(), b.begin(), b.end());
    of.push_back(0.01 * untrained);
  }
  [[nodiscard]] double excess(Numbers x) const { return Terms<double>(of).excess(x); }

  ArrayXd a, b;
  double least = 0;
  std::vector<double> of;  ///< parameters of the formulas
};

Functions functions(const Parameters& own, const Setting& setting) {
  const bool full = own.word("coordinates") == "full", drawn = own.word("start") == "random";
  if (drawn && !full)
    throw UsageError("--start random gives a U that is not diagonal; use --coordinates full");
  const std::vector<double>& spectrum = own.reals("eigenvalues");
  const std::size_t d = spectrum.size(), columns = full ? d : 1;
  const ArrayXd lambda = ArrayXd::Map(spectrum.data(), d);
  const auto N = static_cast<double>(own.integer("context-length"));
  const auto M = static_cast<double>(own.integer("test-length"));
  const auto loss = std::make_shared<const Loss>(lambda, N, full);
  const auto test = std::make_shared<const Loss>(lambda, M, full);
  const double u_limit = math::pow(loss->b.square().sum(), 0.25), sigma = own.real("init-scale");
  RandomStream random(setting.problem_seed, Purpose::start);
  Matrix theta = Matrix::Identity(d, d);
  if (drawn) theta.reshaped() = normals(random, d * d);
  const ArrayXd U = sigma * stored((theta * theta.transpose()).normalized(), full);
  const std::vector<double> start(U.begin(), U.end());

  Functions f;
  f.state = {{"w_PV", {sigma}, "value weight of the label", "u", {}, sigma},
             {"W_KQ", start, "U or its diagonal", "U", {{"row", d}, {"column", columns}}, sigma}};
  f.rhs = alone(flow, loss->of);
  f.loss = [=](auto x, auto) { return loss->least + loss->excess(x); };
  f.loss_floor = 1e-16;
  f.observables = {{"excess_loss", "loss above its minimum",
                    [=](auto x, auto) { return loss->excess(x); }, "", 1e-27},
                   {"test_loss", "loss on prompts of test-length pairs",
                    [=](auto x, auto) { return test->least + test->excess(x); }, "L_M", 1e-16},
                   {"distance", "distance of (u, U) from the limit",
                    [=](auto x, auto) {
                      return math::hypot(x[0] - u_limit,
                                         (stored(x) - loss->b / u_limit).matrix().norm());
                    },
                    "", 1e-14}};
  f.invariants = {{"balance", "tr(U U') - u^2",
                   [](auto x, auto) { return stored(x).square().sum() - x[0] * x[0]; }}};
  f.events = {{"learned", "the excess loss has fallen to 1% of that of U = 0",
               value_alone(events, loss->of)}};
  f.lanes = {.of = loss->of, .rhs = in_lanes(flow), .events = in_lanes(events)};
  f.constants = {{"loss_minimum", loss->least, "lowest loss", "L_min"}};
  f.end = 2 * std::max(0.0, math::log(u_limit / sigma)) / lambda.square().matrix().norm() +
          20 / (loss->a.minCoeff() * u_limit * u_limit);
  if (!full)
    f.no_noise = "with noise only --coordinates full is exact, because U does not stay diagonal";
  f.common_values = !full;  // other entries of U have no gradient
  f.sample = [=](auto x, auto& draw, double weight, auto out) {
    // With x_i = Lambda^1/2 z_i and v = Lambda^1/2 w, y_i = v'z_i depends only on the component of
    // z_i along v.
    const ArrayXd root = lambda.sqrt(), g = normals(draw, d), z = normals(draw, d);
    const VectorXd v = root * normals(draw, d).array();
    const double s = 2 / N * math::exp(draw.log_gamma_variate(N / 2));  // chi^2_N / N
    const VectorXd across = v.norm() * g.matrix() - v.dot(g.matrix()) / v.norm() * v;
    const VectorXd h = root * (s * v + std::sqrt(s / N) * across).array();
    const ArrayXd hx = stored(h * (root * z).matrix().transpose(), full);
    descend(x, weight * (x[0] * (hx * stored(x)).sum() - v.dot(z.matrix())) * hx, out.data());
  };
  return f;
}

}  // namespace

CatalogueRow row() {
  const Range positive{.low = 0, .low_open = true};
  const ParameterTable parameters = {
      {"eigenvalues", Kind::reals, "1,0.5,0.25", "variances of the inputs", "lambda_i", positive},
      {"context-length", Kind::integer, "20", "number of pairs in a prompt", "N", {.low = 1}},
      {"test-length", Kind::integer, "1000", "pairs in a prompt of test_loss", "M", {.low = 1}},
      {"init-scale", Kind::real, "0.01", "size of the start", "sigma", positive},
      {"start", Kind::word, "identity", "U at the start", "Theta", {}, {"identity", "random"}},
      {"coordinates", Kind::word, "diagonal", "stored part of U", "", {}, {"diagonal", "full"}}};
  return FunctionSystem{
      .name = "linear-attention",
      .title = "Linear self-attention trained on linear regression in context",
      .source =
          "Zhang, Frei, Bartlett, Trained Transformers Learn Linear Models In-Context, "
          "JMLR 2024, arXiv 2306.09927",
      .equations = kEquations,
      .parameters = parameters,
      .functions = functions,
      .end = "twice the time of leaving the plateau, plus 20 over the slowest final rate",
      .unreduced = {{"coordinates", "full"}},
      .figure = "loss test_loss at loss_minimum; excess_loss; distance; W_KQ",
      .figure_of_sweeps = "learned loss test_loss"};
}

}  // namespace popflow::linear_attention
