#include "dynamics/joma.hpp"

#include <cmath>
#include <string>

#include "dynamics/joma/problem.hpp"
#include "dynamics/joma/system.hpp"
#include "popflow/error.hpp"

namespace popflow::joma {

namespace {

Attention attention_of(const Parameters& own) {
  Attention attention;
  const std::string& word = own.word("attention");
  if (word == "softmax") attention.kind = Attention::Kind::softmax;
  if (word == "linear") attention.kind = Attention::Kind::linear;
  attention.temperature = own.real("temperature");
  const double c = own.real("offset");
  // A softmax does not depend on the offset, but exponentials that include it might overflow in the
  // rescaled time.
  if (attention.kind != Attention::Kind::softmax) attention.offset = c;
  if (attention.kind == Attention::Kind::linear && c < 0)
    throw UsageError(
        "--offset is " + own.text("offset") +
        "; with --attention linear, which is sqrt(sum v^2 + c), it must be at least 0");
  if (attention.kind == Attention::Kind::exponential && std::abs(c) > 200)
    throw UsageError("--offset is " + own.text("offset") +
                     "; with exponential attention it must be from -200 to 200 (it only scales "
                     "the time, by e^c)");
  return attention;
}

/// Start with v0 = `init` everywhere (--init).
Start even_start(const Problem& problem, double init) {
  Start start;
  start.v0 = Matrix::Constant(problem.goal.rows(), problem.goal.cols(), init);
  return start;
}

void set_ahead(const Problem& problem, Start& start) {
  start.ahead = problem.has_target ? Matrix(problem.goal - start.v0) : problem.goal;
}

/// Continues from the last v of another run, of any variant.
Start start_from(const LastState& last, const Problem& problem) {
  const auto& source = dynamic_cast<const Joma&>(*last.system);
  const Matrix& theirs = source.data().goal;
  const Matrix& ours = problem.goal;
  const auto sizes = [](const Matrix& of) {
    return std::to_string(of.rows()) + " nodes and " + std::to_string(of.cols()) + " tokens";
  };
  if (theirs.rows() != ours.rows() || theirs.cols() != ours.cols())
    throw InputError("--init-from " + last.path + " has a state of " + sizes(theirs) +
                     "; this run has " + sizes(ours));
  Start start;
  start.standard = false;
  start.v0 = source.values(last.view());
  set_ahead(problem, start);
  // Where the targets agree, the other run's mu - v is used: it is accurate beyond the rounding
  // of v.
  if (problem.has_target && source.data().has_target) {
    const Matrix distance = source.deviations(last.view());
    for (Eigen::Index i = 0; i < ours.size(); ++i)
      if (ours.data()[i] == theirs.data()[i]) start.ahead.data()[i] = distance.data()[i];
  }
  return start;
}

Start make_start(const Ingredients& from, const Problem& problem) {
  Parameters& own = from.own;
  const auto check_init = [&](const Matrix& v0, const std::string& where) {
    // Both may be given with equal values: the configuration in a run's file contains both.
    if (own.given("init") && (v0.array() != own.real("init")).any())
      throw UsageError("--init " + own.text("init") + " and " + where +
                       " both set the start of v; give one of them");
    own.unset("init");
  };
  if (from.setting.start != nullptr) {
    Start start = start_from(*from.setting.start, problem);
    check_init(start.v0, "--init-from");
    return start;
  }
  if (problem.v0) {
    check_init(*problem.v0, "the v0 of " + *from.setting.problem);
    Start start;
    start.standard = false;
    start.v0 = *problem.v0;
    set_ahead(problem, start);
    return start;
  }
  Start start = even_start(problem, own.real("init"));
  set_ahead(problem, start);
  return start;
}

}  // namespace

std::unique_ptr<System> make(const Ingredients& from) {
  if (!from.own.has("coordinates")) from.own.resolve("coordinates", std::string("reduced"));
  const Attention attention = attention_of(from.own);
  Problem problem = make_problem(from);
  Start start = make_start(from, problem);
  const bool reduced = from.own.word("coordinates") == "reduced";
  return std::make_unique<Joma>(std::move(problem), attention, std::move(start), reduced,
                                from.workers);
}

}  // namespace popflow::joma
