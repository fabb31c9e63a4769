#include "dynamics/deep_linear.hpp"

#include <array>
#include <cmath>

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
    R"(Data. White inputs x ~ N(0, I) and labels y = Sigma x + noise; all is written in the singular bases
of the teacher Sigma = diag(s_1, ..., s_n).
Model. L linear layers, each n x n: it predicts W x with W = W_L ... W_1.

Population loss (that of the noise left out) and flow (tau = 1):
  L = |Sigma - W|_F^2 / 2,   dW_l/dt = (W_L ... W_{l+1})' (Sigma - W) (W_{l-1} ... W_1)'

Exact results. All W_l W_l' - W_{l+1}' W_{l+1} are conserved. From --start spectral, W_l = g I, the
modes are decoupled: the layers stay diagonal and equal, and a_k = W_kk follows
  da_k/dt = L a_k^(2 - 2/L) (s_k - a_k),   a_k(0) = g^L
  L = 2: a_k = s_k / (1 + (s_k/g^2 - 1) e^(-2 s_k t)), half of s_k at t = log(s_k/g^2 - 1) / (2 s_k)

What to expect. From a small start one mode after another, in the order of their strengths: the loss
stays on a plateau until the next mode is learned, all at once. --start gaussian has normal entries
of variance g^2/n. Then, with L = 2, mode k follows the sigmoid from |c_k|^2/4 in place of g^2, where
c_k is column k of W_1 plus row k of W_2, made orthogonal to those of the stronger modes. With more
layers mode k waits for 1/((L - 2) s_k g^(L - 2)); --method rosenbrock4 takes few steps for that.

Sampled model. A sample is one x with its y, its gradient that of |y - W x|^2 / 2.)";

struct Network {
  Index layers, n;

  /// A state is its layers, one after the other.
  auto layer(auto x, Index l) const { return Matrix::Map(x.data() + l * n * n, n, n); }
  /// The inputs, and the outputs of each layer.
  std::vector<Matrix> forward(Numbers x, const Matrix& inputs) const {
    std::vector<Matrix> made = {inputs};
    for (Index l = 0; l < layers; ++l) made.push_back(layer(x, l) * made.back());
    return made;
  }
  /// Adds minus the gradient of weight |labels - W inputs|^2 / 2.
  void descend(Numbers x, const Matrix& inputs, const Matrix& labels, double weight,
               std::span<double> out) const {
    const std::vector<Matrix> made = forward(x, inputs);
    Matrix error = weight * (labels - made.back());
    for (Index l = layers; l-- > 0; error = (layer(x, l).transpose() * error).eval())
      layer(out, l) += error * made[l].transpose();
  }
  /// d(dW_l/dt)/dW_m of all l and m; the loss' second derivatives, so symmetric. `out` is
  /// row-major.
  ///   of the error:      -A_l' A_m dW_m B_m B_l'
  ///   of W_m above W_l:  (W_{m-1} ... W_{l+1})' dW_m' A_m' E B_l'
  /// with the layers above A_l = W_L ... W_{l+1}, those below B_l = W_{l-1} ... W_1, E = Sigma - W.
  void jacobian(Numbers x, const Matrix& Sigma, std::span<double> out) const {
    const Matrix unit = Matrix::Identity(n, n);
    const std::vector<Matrix> below = forward(x, unit);
    std::vector<Matrix> above(layers, unit);
    for (Index l = layers - 1; l-- > 0;) above[l] = above[l + 1] * layer(x, l + 1);
    const Matrix error = Sigma - below.back();
    const Index size = n * n;
    auto j = Matrix::Map(out.data(), layers * size, layers * size);
    for (Index l = 0; l < layers; ++l) {
      Matrix between = unit;
      for (Index m = l; m < layers; ++m) {
        if (m > l + 1) between = layer(x, m - 1) * between;
        const Matrix left = -above[l].transpose() * above[m];
        const Matrix right = below[m] * below[l].transpose();
        const Matrix turned = above[m].transpose() * error * below[l].transpose();
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
  double imbalance(Numbers x) const {
    double squares = 0;
    for (Index l = 0; l + 1 < layers; ++l) {
      const auto below = layer(x, l), above = layer(x, l + 1);
      squares += (below * below.transpose() - above.transpose() * above).squaredNorm();
    }
    return std::sqrt(squares);
  }
};

// Side by side, for any number n of strengths and any number of layers. The parameters are the n
// strengths, the n levels of the passages, and that of the event.

using Packs = std::array<Pack, kLargestInLanes>;  // room for n x n matrices of all layers

struct Square {
  const Pack* entries;
  std::size_t down, across;  // between neighbours of a column, of a row
  const Pack& operator()(std::size_t i, std::size_t j) const {
    return entries[i * down + j * across];
  }
};

/// out = A B.
inline void multiply(std::size_t n, const Square& A, const Square& B, Pack* out) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Pack sum = A(i, 0) * B(0, j);
      for (std::size_t k = 1; k < n; ++k) sum += A(i, k) * B(k, j);
      out[i * n + j] = sum;
    }
}

/// Writes W_1, W_2 W_1, ... to `made`; returns where the product of all layers is.
inline const Pack* multiply_up(std::size_t n, std::span<const Pack> x, Packs& made) {
  const std::size_t size = n * n, last = x.size() - size;
  for (std::size_t i = 0; i < size; ++i) made[i] = x[i];
  for (std::size_t l = size; l <= last; l += size)
    multiply(n, {&x[l], n, 1}, {&made[l - size], n, 1}, &made[l]);
  return &made[last];
}

constexpr auto lane_flow = [](auto of, auto x, Pack* dxdt) {
  const std::size_t n = of.size() / 2, size = n * n;
  Packs made, errors, next;
  const Pack* W = multiply_up(n, x, made);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      errors[i * n + j] = i == j ? of[i] - W[i * n + j] : -W[i * n + j];
  for (std::size_t l = x.size() - size; l > 0; l -= size) {
    multiply(n, {errors.data(), n, 1}, {&made[l - size], 1, n}, dxdt + l);
    multiply(n, {&x[l], 1, n}, {errors.data(), n, 1}, next.data());
    for (std::size_t i = 0; i < size; ++i) errors[i] = next[i];
  }
  for (std::size_t i = 0; i < size; ++i) dxdt[i] = errors[i];
};

constexpr auto lane_events = [](auto of, auto x, Pack* values) {
  const std::size_t n = of.size() / 2;
  Packs made;
  const Pack* W = multiply_up(n, x, made);
  Pack left = of[2 * n];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const Pack error = i == j ? of[i] - W[i * n + j] : W[i * n + j];
      left -= 0.5 * error * error;
    }
  values[0] = left;
};

constexpr auto lane_passages = [](auto of, auto x, Pack* values) {
  const std::size_t n = of.size() / 2;
  Packs made;
  const Pack* W = multiply_up(n, x, made);
  for (std::size_t i = 0; i < n; ++i) values[i] = W[i * n + i] - of[n + i];
};

std::vector<double> lane_parameters(const ArrayXd& strengths, const ArrayXd& halves, double level) {
  std::vector<double> of(strengths.begin(), strengths.end());
  of.insert(of.end(), halves.begin(), halves.end());
  of.push_back(level);
  return of;
}

/// How long a mode of this strength waits near 0 before it is learned, times the strength: a layer
/// that is small grows by dw/dt = s w^(L - 1).
double plateau(double strength, double layers, double scale) {
  const double growth = std::max(0.0, math::log(strength) / layers - math::log(scale));  // in e's
  const double way = layers == 2 ? growth : -math::expm1((2 - layers) * growth) / (layers - 2);
  return way / math::pow(scale, layers - 2);
}

/// The time at which a mode is learned, in units of the time in which it then is: how finely the
/// time must be told.
double fineness(double strength, double layers, double scale) {
  return plateau(strength, layers, scale) * math::pow(strength, 1 - 2 / layers);
}
constexpr double kFine = 1e10;     ///< beyond, a mode is learned within the rounding of the time
constexpr double kTooFine = 1e21;  ///< beyond, FineTime does not tell what happens meanwhile

Functions functions(const Parameters& own, const Setting& setting) {
  const std::vector<double>& s = own.reals("strengths");
  const ArrayXd S = ArrayXd::Map(s.data(), std::ssize(s));
  if (S.maxCoeff() == 0) throw UsageError("--strengths are all 0: there is nothing to learn");
  const Network net{own.integer("layers"), S.size()};
  const Index n = net.n, layers = net.layers;
  const double g = own.real("init-scale"), noise = own.real("label-noise");
  const double L = static_cast<double>(layers), fine = fineness(S.maxCoeff(), L, g);
  if (fine > kTooFine)
    throw UsageError("--layers " + own.text("layers") + " with --init-scale " +
                     own.text("init-scale") +
                     ": the first mode would be learned so late that the rounding of the time "
                     "hides how; take fewer layers, or a larger scale");
  const Matrix Sigma = S.matrix().asDiagonal(), unit = Matrix::Identity(n, n);
  const Matrix mixing = Matrix::Ones(n, n) - unit;
  std::vector<double> start(layers * n * n);
  RandomStream random(setting.problem_seed, Purpose::start);
  for (double& weight : start) weight = g / std::sqrt(n) * random.normal();
  const bool spectral = own.word("start") == "spectral";
  for (Index l = 0; spectral && l < layers; ++l) net.layer(std::span(start), l) = g * unit;

  const auto product = [=](auto x) { return net.forward(x, unit).back(); };
  const auto loss = [=](auto x, auto) { return (Sigma - product(x)).squaredNorm() / 2; };
  const auto strength = [=](auto x, auto, auto out) {
    ArrayXd::Map(out.data(), n) = product(x).diagonal();
  };
  const ArrayXd halves = (S > 0).select(S / 2, NAN);
  const auto past_half = [=](auto x, auto, auto out) {
    ArrayXd::Map(out.data(), n) = product(x).diagonal().array() - halves;
  };
  const double learned = 0.005 * S.square().sum();

  Functions f;
  f.state = {{"W", start, "layers", "W_l", {{"layer", layers}, {"row", n}, {"column", n}}, g}};
  f.rhs = [=](Numbers x, double, std::span<double> out) {
    std::fill(out.begin(), out.end(), 0.0);
    net.descend(x, unit, Sigma, 1, out);
  };
  f.sample = [=](auto x, auto& draw, double weight, auto out) {
    const Matrix input = normals(draw, n);
    net.descend(x, input, Sigma * input + noise * normals(draw, n), weight, out);
  };
  f.loss = loss;
  f.loss_floor = 1e-27;  // the square of the rounding of W
  f.jacobian = [=](Numbers x, std::span<double> j) { net.jacobian(x, Sigma, j); };
  f.observables = {{"misalignment", "norm of W off the diagonal",
                    [=](auto x, auto) { return product(x).cwiseProduct(mixing).norm(); }, "",
                    1e-14}};
  f.invariants = {{"imbalance", "norm of all W_l W_l' - W_{l+1}' W_{l+1}",
                   [=](auto x, auto) { return net.imbalance(x); }}};
  f.events = {{"learned", "1% is left of the loss of W = 0",
               [=](auto x, auto t) { return learned - loss(x, t); }}};
  f.derived = {{"mode_strength", "strength of the mode in W", {{"mode", n}}, strength, "W_kk"}};
  f.passages = {{"half_time", "time of half the mode's strength", {{"mode", n}}, past_half, "t_k"}};
  f.lanes = {.of = lane_parameters(S, halves, learned),
             .rhs = in_lanes(lane_flow),
             .events = in_lanes(lane_events),
             .passages = in_lanes(lane_passages)};
  if (spectral && layers == 2)
    f.solution = [=](double t, std::span<double> x) {
      const ArrayXd s_k = S.max(1e-300), decay = -2 * t * s_k;  // no 0/0 for a mode of strength 0
      const auto each = [&](double (*function)(double)) -> ArrayXd {
        return decay.unaryExpr(function);
      };
      const ArrayXd left = each([](double at) { return math::exp(at); });
      const ArrayXd lost = each([](double at) { return math::expm1(at); });
      const ArrayXd a = g * g / (left - g * g * lost / s_k);
      net.layer(x, 0) = net.layer(x, 1) = a.sqrt().matrix().asDiagonal();
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
      {"layers", Kind::integer, "2", "layers", "L", {1, 100}},
      {"start", Kind::word, "spectral", "g I or normal entries", "", {}, {"spectral", "gaussian"}},
      {"init-scale", Kind::real, "0.03", "size of the layers", "g", {.low = 0, .low_open = true}},
      {"label-noise", Kind::real, "0", "standard deviation", "", {0}, {}, {}, 0, {"sde", "sgd"}}};
  return FunctionSystem{
      .name = "deep-linear",
      .title = "Deep linear networks, learning a linear map mode by mode",
      .source =
          "Saxe, McClelland, Ganguli, Exact solutions to the nonlinear dynamics of learning "
          "in deep linear neural networks, ICLR 2014, arXiv 1312.6120",
      .equations = kEquations,
      .parameters = parameters,
      .functions = functions,
      .end = "twice the time of the weakest mode from the spectral start, and 20 over its rate"};
}

}  // namespace popflow::deep_linear
