// A program with a user's own system, written as a subclass of System, for cases in which functions
// (examples/own-system) do not suffice. The problem is drawn or read from a file. The system has
// outcomes, a Jacobian, and the exact covariance of its samples.
//
//   logistic run logistic -o run.h5
//   logistic run logistic --problem mine.h5 --mode sgd --learning-rate 0.5 --batch-size 8
//   logistic compare logistic --learning-rate 0.5 --batch-size 4
//   logistic verify logistic

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "popflow/bound.hpp"
#include "popflow/catalogue.hpp"
#include "popflow/datasets.hpp"
#include "popflow/problem_file.hpp"
#include "popflow/program.hpp"
#include "popflow/scratch.hpp"
#include "popflow/sizes.hpp"

namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
using popflow::StateView;
using Vector = Eigen::Map<const VectorXd>;

/// Examples and their labels, -1 or 1.
struct Problem {
  MatrixXd X;  ///< inputs x examples
  VectorXd y;  ///< label of each example
};

// ---- Observables and events. Each is declared together with the function that computes it.

/// Evaluation of a state, from which observables and events are computed.
struct Evaluation {
  double loss = 0;
  double least = 0;  ///< min_i y_i w'x_i
  double wrong = 0;  ///< fraction of examples on the wrong side
  double norm = 0;   ///< |w|
};

const popflow::BoundTable<popflow::ObservableInfo, Evaluation>& observables() {
  static const popflow::BoundTable<popflow::ObservableInfo, Evaluation> table(
      {{{"loss", "L", "mean over the examples", "equation 1"},
        [](const Evaluation& x) { return x.loss; }},
       {{"error_rate", "", "fraction of examples on the wrong side", ""},
        [](const Evaluation& x) { return x.wrong; }},
       {{"margin", "min_i y_i w'x_i/|w|", "signed distance of the nearest example", "theorem 3"},
        [](const Evaluation& x) { return x.least / x.norm; }},
       {{"norm", "|w|", "norm of w; grows as log t once the examples are separated", "theorem 3"},
        [](const Evaluation& x) { return x.norm; }}});
  return table;
}

const popflow::BoundTable<popflow::EventInfo, Evaluation>& events() {
  static const popflow::BoundTable<popflow::EventInfo, Evaluation> table(
      {{{"separated", "all examples are on their sides"},
        [](const Evaluation& x) { return x.least; }}});
  return table;
}

const popflow::SystemInfo& info() {
  static const popflow::SystemInfo instance = [] {
    popflow::SystemInfo of;
    of.name = "logistic";
    of.title = "logistic regression, whose weights grow without end on separable data";
    of.source =
        "Soudry, Hoffer, Nacson, Gunasekar, Srebro, The Implicit Bias of Gradient Descent on "
        "Separable Data, JMLR 2018, arXiv 1710.10345";
    of.equations =
        "L(w) = mean_i log(1 + e^(-y_i w'x_i)),  dw/dt = -grad L, from w = init-scale (1, ..., "
        "1).\n"
        "If the data are separable, |w| grows as log t and w/|w| tends to the direction of the\n"
        "widest margin at the rate 1/log t.";
    of.parameters = {
        {.name = "examples",
         .kind = popflow::Kind::integer,
         .default_text = "50",
         .meaning = "number of examples",
         .range = {.low = 1}},
        {.name = "inputs",
         .kind = popflow::Kind::integer,
         .default_text = "5",
         .meaning = "numbers in an example",
         .symbol = "d",
         .range = {.low = 1}},
        {.name = "gap",
         .kind = popflow::Kind::real,
         .default_text = "0.3",
         .meaning = "distance by which drawn examples are moved away from the plane between the "
                    "labels; if negative, towards the plane, so that some change sides",
         .where = {{.option = "problem", .absent = true}}},
        {.name = "init-scale",
         .kind = popflow::Kind::real,
         .default_text = "0.01",
         .meaning = "start of all weights",
         .range = {.low = 0, .low_open = true}}};
    of.dimensions = {{"input", "number in an example"}, {"example", "example"}};
    of.fields = {{"w", {"input"}, "w", "weights", "equation 1"}};
    of.observables = observables().infos();
    of.events = events().infos();
    of.outcomes = {{"separated", "all examples are on their sides at the end"},
                   {"mixed", "some examples are on the wrong side at the end"}};
    of.problem = {{"x", {"example", "input"}, "examples; finite"},
                  {"y", {"example"}, "labels; -1 or 1"}};
    of.end = "1000";
    return of;
  }();
  return instance;
}

/// 1/(1 + e^h), without overflow.
double doubt(double h) { return h > 0 ? std::exp(-h) / (1 + std::exp(-h)) : 1 / (1 + std::exp(h)); }
/// log(1 + e^-h), without overflow.
double cost(double h) { return std::max(-h, 0.0) + std::log1p(std::exp(-std::abs(h))); }

class Logistic : public popflow::System,
                 public popflow::GradientFlow,
                 public popflow::Jacobian,
                 public popflow::Events,
                 public popflow::Sampled,
                 public popflow::Covariance,
                 public popflow::Outcomes {
 public:
  Logistic(Problem problem, double init_scale)
      : X_(std::move(problem.X)), y_(std::move(problem.y)), init_scale_(init_scale) {
    // Absolute tolerances are multiples of the block's scale, 1: weights of this size matter.
    shape_.blocks = {{"w", static_cast<std::size_t>(X_.rows()), 1}};
    shape_.dimensions = {
        popflow::dimension(info(), "input", static_cast<std::size_t>(X_.rows())),
        popflow::dimension(info(), "example", static_cast<std::size_t>(X_.cols()))};
    shape_.fields = {"w"};
    shape_.events = {"separated"};
  }

  [[nodiscard]] const popflow::SystemInfo& info() const override { return ::info(); }
  [[nodiscard]] const popflow::Shape& shape() const override { return shape_; }
  [[nodiscard]] popflow::Capabilities capabilities() const override {
    return {.gradient_flow = this,
            .jacobian = this,
            .events = this,
            .sampled = this,
            .covariance = this,
            .outcomes = this};
  }
  [[nodiscard]] double default_end() const override { return 1000; }

  void start(std::span<double> w) const override { std::ranges::fill(w, init_scale_); }

  void rhs(StateView w, double /*t*/, std::span<double> dwdt) const override {
    const auto work = work_.borrow();
    write_sides(w, work->h);
    work->numbers = work->h.unaryExpr(&doubt).cwiseProduct(y_) / static_cast<double>(y_.size());
    Eigen::Map<VectorXd>(dwdt.data(), X_.rows()).noalias() = X_ * work->numbers;
  }
  void observe(StateView w, double /*t*/, std::span<double> values) const override {
    observables().evaluate(x(w), values);
  }
  void event_functions(StateView w, double /*t*/, std::span<double> values) const override {
    events().evaluate(x(w), values);
  }
  void field(std::string_view /*name*/, StateView w, double /*t*/,
             const popflow::FieldSink& sink) const override {
    sink(0, w);
  }
  [[nodiscard]] double loss(StateView w, double /*t*/) const override { return x(w).loss; }
  [[nodiscard]] std::string outcome(StateView w, double /*t*/) const override {
    return x(w).least > 0 ? "separated" : "mixed";
  }

  void jacobian(StateView w, double /*t*/, Eigen::Ref<MatrixXd> j,
                std::span<double> time_derivative) const override {
    const auto work = work_.borrow();
    write_sides(w, work->h);
    work->numbers = work->h.unaryExpr([](double h) { return doubt(h) * doubt(-h); });
    j = -X_ * work->numbers.asDiagonal() * X_.transpose() / static_cast<double>(y_.size());
    std::ranges::fill(time_derivative, 0.0);
  }
  /// Covariance of the gradient of an example drawn at random.
  void covariance(StateView w, double /*t*/, Eigen::Ref<MatrixXd> c) const override {
    const auto work = work_.borrow();
    write_sides(w, work->h);
    const MatrixXd v = X_ * work->h.unaryExpr(&doubt).cwiseProduct(y_).asDiagonal();
    const MatrixXd apart = v.colwise() - v.rowwise().mean();
    c = apart * apart.transpose() / static_cast<double>(y_.size());
  }
  void add_sampled(StateView w, double /*t*/, const popflow::SampleKey& key,
                   std::span<const double> weights, std::span<double> out) const override {
    // Summed in a buffer, because `out` may be w itself, at which all gradients are taken.
    const auto work = work_.borrow();
    VectorXd& sum = work->sum;
    sum.setZero(X_.rows());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      popflow::RandomStream random = key.stream(i);
      const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(y_.size())));
      const double h = y_[drawn] * X_.col(drawn).dot(vector(w));
      sum += weights[i] * doubt(h) * y_[drawn] * X_.col(drawn);
    }
    Eigen::Map<VectorXd>(out.data(), X_.rows()) += sum;
  }

  [[nodiscard]] popflow::GroupSpec problem() const override {
    popflow::VariableSpec x = popflow::dataset("x", {"example", "input"}, "examples");
    x.data = popflow::row_major(X_.transpose());
    popflow::VariableSpec y = popflow::dataset("y", {"example"}, "labels");
    y.data = std::vector<double>(y_.begin(), y_.end());
    return {"problem", {}, {}, {x, y}, {}};
  }

 private:
  /// Scratch memory. The runs of an ensemble call the functions above at the same time, so each
  /// call borrows its own.
  struct Work {
    VectorXd h, numbers, sum;
  };

  [[nodiscard]] Vector vector(StateView w) const { return {w.data(), X_.rows()}; }
  /// y_i w'x_i of all examples.
  void write_sides(StateView w, VectorXd& h) const {
    h.noalias() = X_.transpose() * vector(w);
    h.array() *= y_.array();
  }
  [[nodiscard]] Evaluation x(StateView w) const {
    const auto work = work_.borrow();
    write_sides(w, work->h);
    return {.loss = work->h.unaryExpr(&cost).mean(),
            .least = work->h.minCoeff(),
            .wrong = (work->h.array() <= 0).cast<double>().mean(),
            .norm = vector(w).norm()};
  }

  MatrixXd X_;
  VectorXd y_;
  double init_scale_;
  popflow::Shape shape_;
  mutable popflow::ScratchPool<Work> work_;
};

// ---- Problems, drawn or read from a file.

/// Draws a problem according to the parameters.
Problem draw(const popflow::Ingredients& from) {
  popflow::RandomStream random(from.setting.problem_seed, popflow::Purpose::problem);
  Problem problem{MatrixXd(from.own.integer("inputs"), from.own.integer("examples")), {}};
  for (double& entry : problem.X.reshaped()) entry = random.normal();
  problem.y = problem.X.row(0).transpose().unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
  problem.X.row(0) += from.own.real("gap") * problem.y.transpose();
  return problem;
}

/// Reads a problem from its file, and resolves the sizes into the parameters.
Problem read(const popflow::Ingredients& from) {
  const std::string& path = *from.setting.problem;
  const popflow::ProblemFile file(path, {"x"});
  Problem problem{file.matrix("x").transpose(), {}};
  file.require_finite("x", problem.X.transpose());
  if (problem.X.size() == 0) throw file.bad("x has shape " + popflow::in_words(file.shape("x")));
  const Index examples = problem.X.cols();
  problem.y = file.vector("y", static_cast<std::size_t>(examples),
                          "x has " + std::to_string(examples) + " examples");
  for (Index i = 0; i < examples; ++i)
    if (std::abs(problem.y[i]) != 1)
      throw file.bad(popflow::entry_name("y", i) + " is " + popflow::shortest(problem.y[i]) +
                     "; labels are -1 or 1");
  popflow::resolve(from.own, "examples", examples, path);
  popflow::resolve(from.own, "inputs", problem.X.rows(), path);
  return problem;
}

std::unique_ptr<popflow::System> make(const popflow::Ingredients& from) {
  return std::make_unique<Logistic>(from.setting.problem ? read(from) : draw(from),
                                    from.own.real("init-scale"));
}

}  // namespace

int main(int argc, char** argv) {
  return popflow::run_program(argc, argv, popflow::Catalogue({{info, make}}));
}
