#include "dynamics/scb.hpp"

#include <algorithm>
#include <cmath>

#include "dynamics/scb/system.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"

namespace popflow::scb {

namespace {

Variant variant_of(const Parameters& own) {
  return {own.word("attention") == "softmax", own.word("preconditioner") == "inverse-frequency",
          own.word("project") == "attention"};
}

Coordinates coordinates_of(const Parameters& own) {
  const std::string& word = own.word("coordinates");
  if (word == "support") return Coordinates::support;
  if (word == "signal") return Coordinates::signal;
  return Coordinates::full;
}

/// Refuses combinations in which a reduction would not be exact.
void refuse_inexact(const Parameters& own, Variant variant, Coordinates coordinates) {
  const double l1 = own.has("l1") ? own.real("l1") : 0;
  if (l1 > 0 && variant.softmax)
    throw UsageError("--l1 is " + own.text("l1") +
                     ", but the l1 norm of softmax attention is always 1; use --attention linear");
  if (own.word("schedule") == "two-stage") {
    const std::string two = "--schedule two-stage needs ";
    if (variant.softmax)
      throw UsageError(two +
                       "--attention linear: softmax weights are never zero and always sum to 1, "
                       "so that they need no l1");
    if (coordinates == Coordinates::signal)
      throw UsageError(two +
                       "--coordinates full or support: its threshold takes the attention off the "
                       "line from 1/T to q_k; support coordinates are exact");
    if (!variant.project)
      throw UsageError(two + "--project attention: stage 1 is projected and stage 2 is not");
  }
  if (own.has("rounding") && (variant.softmax || coordinates == Coordinates::signal))
    throw UsageError("--rounding is " + own.text("rounding") + ", but " +
                     (variant.softmax ? "softmax weights sum to 1 and have no zeros; use "
                                        "--attention linear"
                                      : "rounded columns leave the signal coordinates; support "
                                        "coordinates are exact"));
  if (coordinates != Coordinates::signal) return;
  const std::string key = "--coordinates signal needs ";
  if (variant.softmax)
    throw UsageError(key +
                     "--attention linear: with softmax the columns leave the line from 1/T "
                     "to q_k; support coordinates are exact");
  if (!variant.inverse_frequency)
    throw UsageError(key +
                     "--preconditioner inverse-frequency: without it every column moves at "
                     "its own rate; support coordinates are exact");
  if (!variant.project)
    throw UsageError(key +
                     "--project attention: without it the columns' sums change; support "
                     "coordinates are exact");
  if (l1 > 0)
    throw UsageError(key +
                     "--l1 0: a threshold takes the columns off the line from 1/T to q_k; support "
                     "coordinates are exact");
}

/// Refuses sizes too large for the machine before anything is drawn.
void require_room(const Ingredients& from, Coordinates coordinates) {
  const Parameters& own = from.own;
  if (from.setting.problem) return;  // sizes come from the file
  const auto N = static_cast<double>(own.integer("vocab-size"));
  const auto T = static_cast<double>(own.integer("context-length"));
  const auto S = static_cast<double>(own.integer("sparsity"));
  const std::string sizes = "--vocab-size " + own.text("vocab-size") + " with --context-length " +
                            own.text("context-length") + " and --sparsity " + own.text("sparsity");
  if (coordinates == Coordinates::full)
    require_memory(4 * N * N + 2 * N * (T + S), sizes + " in full coordinates");
  else
    require_memory(4 * N * N + 2 * N * (S + 1), sizes);
}

Eigen::MatrixXd standard_start(const Problem& problem, const std::string& word) {
  const Eigen::Index N = problem.vocabulary();
  if (word == "uniform") return Eigen::MatrixXd::Constant(N, N, 1 / static_cast<double>(N));
  return problem.mu.replicate(1, N);
}

bool same_positions(const Positions& a, const Positions& b) {
  return a.context_length == b.context_length && a.slots() == b.slots() &&
         a.position == b.position && a.weight == b.weight;
}

/// Starts from the last state of another run: from its V and attention or, with --init-mix, from V
/// alone.
Start start_from(const LastState& last, const Parameters& own, const Problem& problem,
                 Variant variant, Coordinates coordinates) {
  const auto& source = dynamic_cast<const Scb&>(*last.system);
  if (source.data().vocabulary() != problem.vocabulary())
    throw InputError("--init-from " + last.path + " has a vocabulary of " +
                     std::to_string(source.data().vocabulary()) + " tokens; this problem has " +
                     std::to_string(problem.vocabulary()));
  Start start{source.value_matrix(last.x, last.t), false};
  if (own.has("init-mix")) {
    start.V0 = source.trained_value(last.x, last.t);
    const double signal = correlation(start.V0, problem);
    if (!std::isnan(signal)) start.correlation = signal;
    const double theta = own.real("init-mix");
    start.V0 = theta * start.V0 + (1 - theta) * standard_start(problem, "stationary");
    return start;
  }

  const std::string hint = "; use the same, or --init-mix, which takes only V";
  if (source.coordinates() != coordinates || source.variant().softmax != variant.softmax)
    throw InputError("--init-from " + last.path +
                     " was run with other --coordinates or another --attention" + hint);
  const bool fits = coordinates == Coordinates::full
                        ? source.data().Q.context_length == problem.Q.context_length
                        : same_positions(source.data().Q, problem.Q);
  if (!fits)
    throw InputError("--init-from " + last.path +
                     (coordinates == Coordinates::full ? " has another context length"
                                                       : " has other positions Q") +
                     hint);
  const auto attention = source.attention_state(last.x);
  start.attention.assign(attention.begin(), attention.end());
  if (own.word("schedule") == "two-stage")
    start.stages = source.stages_from(
        last.regime, last.t,
        source.data().P == problem.P && same_positions(source.data().Q, problem.Q));
  return start;
}

Start make_start(const Ingredients& from, const Problem& problem, Variant variant,
                 Coordinates coordinates) {
  Parameters& own = from.own;
  const LastState* last = from.setting.start;
  if (own.has("init-mix") && last == nullptr)
    throw UsageError("--init-mix is " + own.text("init-mix") +
                     ", but --init-from is missing; give the run whose V is to be mixed");
  if (last != nullptr) {
    if (own.given("init-value") && own.word("init-value") != "problem")
      throw UsageError("--init-value " + own.word("init-value") +
                       " and --init-from both set the start of V; give one of them");
    return start_from(*last, own, problem, variant, coordinates);
  }
  if (!own.has("init-value"))
    own.resolve("init-value", std::string(problem.V0 ? "problem" : "stationary"));
  if (own.word("init-value") != "problem")
    return {standard_start(problem, own.word("init-value")), true};
  if (!problem.V0)
    throw UsageError("--init-value is 'problem', but no --problem file with a V0 is given");
  return {*problem.V0, false, {}, problem.transfer_correlation};
}

/// Number of weights that differ at the start, each of which may come to rest at a different time.
std::size_t different_weights(const Start& start, const Problem& problem, Coordinates coordinates) {
  const auto N = static_cast<std::size_t>(problem.vocabulary());
  const auto slots = static_cast<std::size_t>(problem.Q.slots());
  if (coordinates != Coordinates::full || start.attention.empty()) return N * (slots + 1);
  const std::size_t T = start.attention.size() / N;
  std::size_t count = N * slots;
  for (std::size_t k = 0; k < N; ++k) {
    std::vector<double> column(start.attention.begin() + static_cast<std::ptrdiff_t>(k * T),
                               start.attention.begin() + static_cast<std::ptrdiff_t>((k + 1) * T));
    std::sort(column.begin(), column.end());
    count += static_cast<std::size_t>(std::unique(column.begin(), column.end()) - column.begin());
  }
  return count;
}

/// Chooses the method by which a flow follows the l1 term. The default is exact if this is
/// affordable.
void choose_l1_solver(const Ingredients& from, const Start& start, const Problem& problem,
                      Coordinates coordinates, Training& training) {
  Parameters& own = from.own;
  const Setting& setting = from.setting;
  training.step = setting.step;
  if (setting.noisy)
    training.solver_unused = own.given("l1-solver") && own.word("l1-solver") != "splitting";
  if (setting.noisy || training.l1 == 0) return;
  // Each change of the active set takes about 70 evaluations of all entries that can change:
  // minutes for this many weights.
  constexpr std::size_t kFew = 100'000;
  // After the threshold of two-stage training, all small weights are equal (zero).
  const bool made_equal = training.two_stage && training.two_stage->threshold > 0;
  const std::size_t all = different_weights(start, problem, coordinates);
  const bool few = made_equal || coordinates != Coordinates::full || all <= kFew;
  if (!few) training.single_weights = all;
  if (!own.has("l1-solver")) {
    own.resolve("l1-solver", std::string(setting.step ? "splitting"
                                         : few        ? "active-set"
                                                      : "adaptive-splitting"));
  }
  const std::string& word = own.word("l1-solver");
  training.solver = word == "active-set"  ? L1Solver::active_set
                    : word == "splitting" ? L1Solver::splitting
                                          : L1Solver::adaptive_splitting;
  if (training.solver != L1Solver::splitting) return;
  if (!setting.dt)
    throw UsageError(
        "--l1-solver splitting needs --dt, its step length; --l1-solver active-set needs none");
  training.splitting_step = setting.dt;
}

}  // namespace

std::unique_ptr<System> make(const Ingredients& from) {
  const Variant variant = variant_of(from.own);
  const Coordinates coordinates = coordinates_of(from.own);
  refuse_inexact(from.own, variant, coordinates);
  require_room(from, coordinates);
  Problem problem = make_problem(from);
  Start start = make_start(from, problem, variant, coordinates);
  Training training = resolve_training(from.own, problem, variant, start.V0);
  choose_l1_solver(from, start, problem, coordinates, training);
  return std::make_unique<Scb>(std::move(problem), variant, coordinates, std::move(start), training,
                               from.workers);
}

}  // namespace popflow::scb
