#include "dynamics/deep_linear.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "dynamics/common/lane_arrays.hpp"
#include "dynamics/common/normals.hpp"
#include "popflow/error.hpp"
#include "popflow/function_system.hpp"
#include "popflow/math.hpp"
#include "popflow/pack.hpp"

namespace popflow::deep_linear {
namespace {

using Eigen::ArrayXd, Eigen::Index;
using Numbers = std::span<const double>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr const char* kEquations =
    R"(Data. Inputs x ~ N(0, I) are white; labels are y = Sigma x + noise. Everything is written in
the singular bases of the teacher Sigma = diag(s_1, ..., s_n).
Model. L linear layers, each n x n, predict W x with W = W_L ... W_1.

Population loss, without the constant that the noise adds, and flow (tau = 1):
  L = |Sigma - W|_F^2 / 2,   dW_l/dt = (W_L ... W_{l+1})' (Sigma - W) (W_{l-1} ... W_1)'

Exact results. All W_l W_l' - W_{l+1}' W_{l+1} are conserved. From --start spectral, W_l = g I, the
modes are decoupled: the layers stay diagonal and equal, and a_k = W_kk follows
  da_k/dt = L a_k^(2 - 2/L) (s_k - a_k),   a_k(0) = g^L
  L = 2: a_k = s_k / (1 + (s_k/g^2 - 1) e^(-2 s_k t)), half of s_k at t = log(s_k/g^2 - 1) / (2 s_k)

What to expect. From a small start the modes are learned one after another, in the order of their
strengths. The loss stays on a plateau until the next mode is learned abruptly. With --start
gaussian the entries are normal with variance g^2/n. For L = 2, mode k then follows the same sigmoid
with |c_k|^2/4 in place of g^2. Here c_k is column k of W_1 plus row k of W_2, made orthogonal to
those of the stronger modes. With more layers mode k waits for a time of 1/((L - 2) s_k g^(L - 2));
--method rosenbrock4 takes few steps for this.

Sampled model. A sample is an input x with its label y; its gradient is that of |y - W x|^2 / 2.)";

// ---- Formulas, for one problem or many side by side. A state consists of its layers, in order.

/// Inputs whose mean square is the unit matrix, as in the population loss.
struct White {};

/// Product A B. For doubles it is Eigen's own, which works in blocks if matrices are large.
template <class A, class B>
auto product(const A& a, const B& b) {
  if constexpr (std::is_same_v<typename A::Scalar, double>)
    return a * b;
  else
    return a.lazyProduct(b);
}
template <class A>
const A& product(const A& a, White /*inputs*/) {
  return a;
}
auto transposed(const auto& a) { return a.transpose(); }
White transposed(White inputs) { return inputs; }

template <class Number>
class Network {
 public:
  using Matrix = NumberMatrix<Number>;
  using Layer = Eigen::Map<const Matrix>;
  using Numbers = std::span<const Number>;

  Network(Index n, Numbers x) : n_(n), layers_(std::ssize(x) / (n * n)), x_(x) {}

  [[nodiscard]] Index layers() const { return layers_; }
  [[nodiscard]] Layer layer(Index l) const { return {x_.data() + l * n_ * n_, n_, n_}; }

  /// Outputs of all layers for given inputs.
  class Outputs {
   public:
    Outputs(Index layers, Index n, Index inputs)
        : n_(n), inputs_(inputs), all_(layers * n * inputs) {}
    auto operator[](Index l) { return Matrix::Map(all_.data() + l * n_ * inputs_, n_, inputs_); }
    auto operator[](Index l) const {
      return Matrix::Map(all_.data() + l * n_ * inputs_, n_, inputs_);
    }

   private:
    Index n_, inputs_;
    NumberArray<Number> all_;
  };
  template <class Inputs>
  [[nodiscard]] Outputs forward(const Inputs& inputs) const {
    Index columns = n_;
    if constexpr (!std::is_same_v<Inputs, White>) columns = inputs.cols();
    Outputs made(layers_, n_, columns);
    made[0] = product(layer(0), inputs);
    for (Index l = 1; l < layers_; ++l) made[l].noalias() = product(layer(l), made[l - 1]);
    return made;
  }
  /// Product of all layers, W = W_L ... W_1.
  [[nodiscard]] Matrix whole() const { return forward(White{})[layers_ - 1]; }
  /// Residual Sigma - W, given Sigma's singular values `strengths`.
  [[nodiscard]] Matrix residual(Numbers strengths, const Matrix& W) const {
    Matrix error = -W;
    for (Index i = 0; i < n_; ++i) error(i, i) += strengths[i];
    return error;
  }
  [[nodiscard]] Number loss(Numbers strengths) const {
    return residual(strengths, whole()).squaredNorm() / 2;
  }
  /// Adds minus the gradient that belongs to the residual `error` of the last layer's outputs
  /// (back-propagation).
  template <class Inputs>
  void descend(const Inputs& inputs, const Outputs& made, Matrix error, Number* out) const {
    const auto change = [&](Index l) { return Matrix::Map(out + l * n_ * n_, n_, n_); };
    for (Index l = layers_ - 1; l > 0; --l) {
      change(l) += product(error, made[l - 1].transpose());
      if constexpr (std::is_same_v<Number, double>) {
        error = product(layer(l).transpose(), error).eval();
      } else {  // Eigen's own temporary lacks the alignment of lanes
        const Matrix before = product(layer(l).transpose(), error);
        error = before;
      }
    }
    change(0) += product(error, transposed(inputs));
  }

 private:
  Index n_, layers_;
  Numbers x_;
};

// The formulas' parameters are the n strengths, the n levels of the passages, and the level of the
// event.

Index modes(auto of) { return std::ssize(of) / 2; }

constexpr auto flow = [](auto of, auto x, auto dxdt) {
  const Network net(modes(of), x);
  std::fill_n(dxdt, x.size(), 0);
  const auto made = net.forward(White{});
  net.descend(White{}, made, net.residual(of, made[net.layers() - 1]), dxdt);
};

constexpr auto events = [](auto of, auto x, auto values) {
  values[0] = of.back() - Network(modes(of), x).loss(of);
};

constexpr auto mode_strengths = [](auto of, auto x, auto values) {
  const Network net(modes(of), x);
  const auto made = net.forward(White{});
  for (Index k = 0; k < modes(of); ++k) values[k] = made[net.layers() - 1](k, k);
};

constexpr auto passages = [](auto of, auto x, auto values) {
  mode_strengths(of, x, values);
  for (Index k = 0; k < modes(of); ++k) values[k] -= of[modes(of) + k];
};

std::vector<double> parameters_of(const ArrayXd& strengths, const ArrayXd& halves, double level) {
  std::vector<double> of(strengths.begin(), strengths.end());
  of.insert(of.end(), halves.begin(), halves.end());
  of.push_back(level);
  return of;
}

// ---- for a single problem

/// d(dW_l/dt)/dW_m for all l and m: second derivatives of the loss, hence symmetric. `out` is
/// row-major.
///   from the error:     -A_l' A_m dW_m B_m B_l'
///   from W_m above W_l: (W_{m-1} ... W_{l+1})' dW_m' A_m' E B_l'
/// with the layers above A_l = W_L ... W_{l+1}, those below B_l = W_{l-1} ... W_1, E = Sigma - W.
/// Written by hand: jacobian_of(flow, ...) by dual numbers adds the terms in another order, which
/// changes the last digits.
void jacobian(const Network<double>& net, const Matrix& Sigma, std::span<double> out) {
  const Index n = Sigma.rows(), layers = net.layers(), size = n * n;
  const Matrix unit = Matrix::Identity(n, n);
  const auto made = net.forward(unit);
  const auto below = [&](Index l) -> Matrix { return l == 0 ? unit : Matrix(made[l - 1]); };
  std::vector<Matrix> above(layers, unit);
  for (Index l = layers - 1; l-- > 0;) above[l] = above[l + 1] * net.layer(l + 1);
  const Matrix error = Sigma - below(layers);
  auto j = Matrix::Map(out.data(), layers * size, layers * size);
  for (Index l = 0; l < layers; ++l) {
    Matrix between = unit;
    for (Index m = l; m < layers; ++m) {
      if (m > l + 1) between = net.layer(m - 1) * between;
      const Matrix left = -above[l].transpose() * above[m];
      const Matrix right = below(m) * below(l).transpose();
      const Matrix turned = above[m].transpose() * error * below(l).transpose();
      for (Index row = 0; row < size; ++row)
        for (Index column = 0; column < size; ++column) {
          const Index i = row / n, k = row % n, a = column / n, b = column % n;
          double& entry = j(l * size + row, m * size + column);
          entry = left(i, a) * right(b, k);
          if (m > l) entry += between(b, i) * turned(a, k);
        }
      j.block(m * size, l * size, size, size) =
          j.block(l * size, m * size, size, size).transpose().eval();
    }
  }
}

double imbalance(const Network<double>& net) {
  double squares = 0;
  for (Index l = 0; l + 1 < net.layers(); ++l) {
    const auto below = net.layer(l), above = net.layer(l + 1);
    squares += (below * below.transpose() - above.transpose() * above).squaredNorm();
  }
  return std::sqrt(squares);
}

/// Time for which a mode waits near 0 before it is learned, times its strength: a small layer grows
/// by dw/dt = s w^(L - 1).
double plateau(double strength, double layers, double scale) {
  const double growth =
      // Logarithm of the growth factor.
      std::max(0.0, math::log(strength) / layers - math::log(scale));
  const double way = layers == 2 ? growth : -math::expm1((2 - layers) * growth) / (layers - 2);
  return way / math::pow(scale, layers - 2);
}

/// Time until a mode is learned, divided by the duration of its transition: the relative resolution
/// that the time needs.
double relative_resolution(double strength, double layers, double scale) {
  return plateau(strength, layers, scale) * math::pow(strength, 1 - 2 / layers);
}
constexpr double kFine = 1e10;     ///< above this, a mode is learned within the time's rounding
constexpr double kTooFine = 1e21;  ///< above this, FineTime cannot resolve the transition

Functions functions(const Parameters& own, const Setting& setting) {
  const std::vector<double>& s = own.reals("strengths");
  const ArrayXd S = ArrayXd::Map(s.data(), std::ssize(s));
  if (S.maxCoeff() == 0) throw UsageError("--strengths are all 0; at least one must be above 0");
  const Index n = S.size(), layers = own.integer("layers");
  const double g = own.real("init-scale"), noise = own.real("label-noise");
  const double L = static_cast<double>(layers), fine = relative_resolution(S.maxCoeff(), L, g);
  if (fine > kTooFine)
    throw UsageError("--layers " + own.text("layers") + " with --init-scale " +
                     own.text("init-scale") +
                     ": the first mode is learned so late that the rounding of time hides its "
                     "transition; use fewer --layers or a larger --init-scale");
  const Matrix Sigma = S.matrix().asDiagonal(), unit = Matrix::Identity(n, n);
  const Matrix mixing = Matrix::Ones(n, n) - unit;
  std::vector<double> start(layers * n * n);
  RandomStream random(setting.problem_seed, Purpose::start);
  for (double& weight : start) weight = g / std::sqrt(n) * random.normal();
  const bool spectral = own.word("start") == "spectral";
  const auto layer = [n](std::span<double> x, Index l) {
    return Matrix::Map(x.data() + l * n * n, n, n);
  };
  for (Index l = 0; spectral && l < layers; ++l) layer(start, l) = g * unit;

  const auto net = [n](Numbers x) { return Network<double>(n, x); };
  const ArrayXd halves = (S > 0).select(S / 2, NAN);
  const std::vector<double> of = parameters_of(S, halves, 0.005 * S.square().sum());

  Functions f;
  f.state = {{"W", start, "layers", "W_l", {{"layer", layers}, {"row", n}, {"column", n}}, g}};
  f.rhs = alone(flow, of);
  f.sample = [=](auto x, auto& draw, double weight, auto out) {
    const Matrix input = normals(draw, n);
    const Matrix label = Sigma * input + noise * normals(draw, n);
    const auto made = net(x).forward(input);
    net(x).descend(input, made, weight * (label - made[layers - 1]), out.data());
  };
  f.loss = [=](auto x, auto) { return net(x).loss(of); };
  f.loss_floor = 1e-27;  // square of the rounding of W
  f.jacobian = [=](Numbers x, std::span<double> j) { jacobian(net(x), Sigma, j); };
  f.observables = {{"misalignment", "norm of the off-diagonal entries of W",
                    [=](auto x, auto) { return net(x).whole().cwiseProduct(mixing).norm(); }, "",
                    1e-14}};
  f.invariants = {{"imbalance", "norm of all W_l W_l' - W_{l+1}' W_{l+1}",
                   [=](auto x, auto) { return imbalance(net(x)); }}};
  f.events = {{"learned", "the loss has fallen to 1% of that of W = 0", value_alone(events, of)}};
  f.derived = {{"mode_strength",
                "strength of the mode in W",
                {{"mode", n}},
                alone(mode_strengths, of),
                "W_kk"}};
  f.passages = {{"half_time",
                 "time at which the mode has half its strength",
                 {{"mode", n}},
                 alone(passages, of),
                 "t_k"}};
  f.lanes = {
      .of = of, .rhs = in_lanes(flow), .events = in_lanes(events), .passages = in_lanes(passages)};
  if (spectral && layers == 2)
    f.solution = [=](double t, std::span<double> x) {
      const ArrayXd s_k = S.max(1e-300), decay = -2 * t * s_k;  // avoids 0/0
      const auto each = [&](double (*function)(double)) -> ArrayXd {
        return decay.unaryExpr(function);
      };
      const ArrayXd left = each([](double at) { return math::exp(at); });
      const ArrayXd lost = each([](double at) { return math::expm1(at); });
      const ArrayXd a = g * g / (left - g * g * lost / s_k);
      layer(x, 0) = layer(x, 1) = a.sqrt().matrix().asDiagonal();
    };
  const double weakest = (S > 0).select(S, INFINITY).minCoeff();
  f.end = 2 * plateau(weakest, L, g) / weakest + 20 / (L * math::pow(weakest, 2 - 2 / L));
  f.jumps = fine > kFine;
  return f;
}

}  // namespace

CatalogueRow row() {
  const ParameterTable parameters = {
      {"strengths", Kind::reals, "4,2,1", "singular values of the teacher", "s_k", {.low = 0}},
      {"layers", Kind::integer, "2", "number of layers", "L", {1, 100}},
      {"start",
       Kind::word,
       "spectral",
       "start of the layers: g I, or normal entries",
       "",
       {},
       {"spectral", "gaussian"}},
      {"init-scale", Kind::real, "0.03", "size of the layers", "g", {.low = 0, .low_open = true}},
      {"label-noise",
       Kind::real,
       "0",
       "standard deviation of the noise of labels",
       "",
       {0},
       {},
       {},
       0,
       {"sde", "sgd"}}};
  return FunctionSystem{
      .name = "deep-linear",
      .title = "Deep linear networks, learning a linear map mode by mode",
      .source =
          "Saxe, McClelland, Ganguli, Exact solutions to the nonlinear dynamics of learning "
          "in deep linear neural networks, ICLR 2014, arXiv 1312.6120",
      .equations = kEquations,
      .parameters = parameters,
      .functions = functions,
      .end = "twice the time of the weakest mode from the spectral start, plus 20 over its rate",
      .figure = "mode_strength; half_time over strengths; loss; misalignment",
      .figure_of_sweeps = "half_time learned"};
}

}  // namespace popflow::deep_linear
