#include "dynamics/markov/system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "dynamics/markov.hpp"
#include "dynamics/markov/bernoulli.hpp"
#include "dynamics/markov/formulas.hpp"
#include "dynamics/markov/lanes.hpp"
#include "popflow/datasets.hpp"
#include "popflow/math.hpp"

namespace popflow::markov {

namespace {

// Smallest scale of a block: its absolute tolerance is far below kVanishing.
constexpr double kSmallest = 1e-280;

/// Scale of a block that begins or ends at `value`.
double natural_scale(double value) {
  return value == 0 ? 1 : std::clamp(std::abs(value), kSmallest, 1.0);
}

std::string in_short(double value) {
  std::ostringstream text;
  text.precision(4);
  text << value;
  return text.str();
}

/// Reduces `names` to `name` alone if `keep` holds, and to nothing otherwise.
void set_only(std::vector<std::string>& names, const char* name, bool keep) {
  if (names.empty() && keep) names.emplace_back(name);
  if (!keep) names.clear();
}

}  // namespace

Markov::Markov(Chain chain, bool free_bias, Point start, std::vector<Note> notes, Sampling sampling,
               Workers& workers)
    : chain_(chain),
      free_bias_(free_bias),
      notes_(std::move(notes)),
      noisy_(sampling.noisy),
      sampler_(chain, sampling.context_length, workers),
      path_sums_(path_sums(chain.correlation, sampler_.transitions())) {
  // Sweeps construct many Systems, so no initialiser lists, which would be copied.
  shape_.blocks.reserve(3);
  shape_.blocks.push_back({"e", 1});
  shape_.blocks.push_back({"w", 1});
  if (free_bias_) shape_.blocks.push_back({"b", 1});
  shape_.fields.reserve(3);
  for (const char* field : {"e", "w", "b"}) shape_.fields.emplace_back(field);
  shape_.constants.reserve(2);
  shape_.constants.emplace_back("entropy_rate", chain_.entropy_rate);
  shape_.constants.emplace_back("stationary_entropy", chain_.entropy);
  begin_at(start);
}

const SystemInfo& Markov::info() const { return markov::info(); }

Capabilities Markov::capabilities() const {
  Capabilities can{.gradient_flow = this,
                   .jacobian = this,
                   .sampled = this,
                   .covariance = this,
                   .outcomes = this};
  if (w_freezes_)
    can.gradient_flow =
        Lacking{"w does not move: it is 0, or has become too small to be integrated"};
  if (!shape_.events.empty()) can.events = this;
  can.in_lanes = this;
  return can;
}

const LaneFormulas& Markov::lane_formulas() const {
  return free_bias_ ? free_lanes() : optimal_lanes();
}

void Markov::lane_parameters(std::span<double> of) const {
  if (free_bias_)
    free_parameters(chain_, path_sums_, of);
  else
    optimal_parameters(chain_, path_sums_, settled_, of);
}

void Markov::begin_at(Point start) {
  start_ = start;
  limit_ = limit_of(chain_, start_.e, start_.w);
  smallest_w_ = smallest_w_on_way();
  double end_of_w = smallest_w_;
  double scale_of_w = end_of_w;
  if (free_bias_) {
    const double way = std::abs(start_.b - optimal_logits(chain_, start_.e, start_.w).bias);
    end_of_w *= math::exp(-2 * start_.e * start_.e * way);
    scale_of_w = std::min(end_of_w, smallest_w_of_free_bias(way));
  }
  w_freezes_ = end_of_w < 10 * kVanishing;
  // A start near the line e = 0 leaves the line exponentially: errors relative to this small e
  // decide when.
  shape_.blocks[0].scale = natural_scale(start_.e);
  shape_.blocks[1].scale =
      start_.w == 0 ? 1 : std::min(natural_scale(start_.w), std::clamp(scale_of_w, kSmallest, 1.0));
  set_only(shape_.invariants, "energy", !free_bias_ && start_.w != 0 && !w_vanishes());
  const bool settles = !free_bias_ && !is_at_rest();
  set_only(shape_.events, "loss_settled", settles);
  settled_ = {};
  if (settles)
    settled_ = slopes_within(chain_, limit_ == Limit::global ? excess_loss : loss_above_line,
                             markov::slope(start_.e, start_.w), kSettled,
                             noisy_ ? Side::both : Side::of_start);
}

/// Whether w becomes too small for a double on the way to the limit.
bool Markov::w_vanishes() const { return start_.w != 0 && smallest_w_ < 10 * kVanishing; }

LimitPoint Markov::limit_point() const {
  return markov::limit_point(chain_, limit_, start_.e, start_.w);
}

/// Smallest |w| on the way to the limit. w is monotonic, so it is smallest at one end: at the start
/// if it grows. The sign of dw/dt decides, because g_1 has the sign of s - s* throughout.
double Markov::smallest_w_on_way() const {
  const bool grows = start_.w * (markov::slope(start_.e, start_.w) - chain_.best_slope) < 0;
  return std::abs(grows ? start_.w : limit_point().w);
}

/// Heuristic bound on how small w becomes while a free bias moves by `way`. The bias shifts log|w|
/// by dE/dt = -2 e^2 db/dt, and e grows until f_0 = b - e^2/2 or f_1 = b + e^2/2 + ... has the sign
/// opposite to that of b: up to e^2 of twice the way.
double Markov::smallest_w_of_free_bias(double way) const {
  constexpr double kKnown = 1e-3;  // w keeps its digits even if a scale is this much too large
  const double e_squared =
      std::max(start_.e * start_.e, std::max(chain_.best_slope, 0.0) + 2 * way);
  const double shift = math::exp(-2 * e_squared * way);
  return shift < kKnown ? smallest_w_ * shift : INFINITY;
}

GroupSpec Markov::problem() const {
  GroupSpec group;
  group.name = "problem";
  VariableSpec p = dataset("p", {}, "transition probability Pr(0 -> 1)");
  p.data = std::vector<double>{chain_.p};
  VariableSpec q = dataset("q", {}, "transition probability Pr(1 -> 0)");
  q.data = std::vector<double>{chain_.q};
  group.variables = {p, q};
  return group;
}

/// With the optimal bias every point of e = 0 is at rest.
bool Markov::is_at_rest() const { return start_.e == 0; }

/// Rough estimate of the duration: growth away from the line e = 0, descent from a large e, passage
/// of the saddle.
double Markov::passage_time() const {
  const double e = std::abs(start_.e);
  const double repulsion = std::abs(chain_.slope_at_line);
  double time = math::log1p(e) / chain_.pair_change;
  if (repulsion > 0 && e > 0 && !line_attracts(chain_, start_.w)) {
    const double k = std::abs(1 + 2 * start_.w * std::abs(start_.w));
    time += math::log1p(1 / e) / (repulsion * std::max(k, e));
  }
  if (start_.w < 0 && repulsion > 0) {
    constexpr double kQuarterTurn = 0.7853981633974483;
    const double above = std::abs(energy_above_saddle(start_.e, start_.w));
    time += kQuarterTurn / (repulsion * std::sqrt(std::clamp(above, 1e-12, 1.0)));
  }
  return time;
}

double Markov::default_end() const {
  constexpr double kTimes = 20;  // relative to 1 / final rate
  const double spread = chain_.pi0 * chain_.pi1;
  // If the approach is slower than exponential, its pace follows from the curvature.
  const double creep = 100 / (spread * spread);
  if (free_bias_) {
    // The limit is unknown. The bias relaxes at a rate of about the spread; from far away it moves
    // at a speed of at least pair_change, because one of the logits is saturated.
    const double line = std::abs(chain_.slope_at_line);
    const double relaxation = std::abs(start_.b) / chain_.pair_change + kTimes / spread;
    return two_digits(relaxation + (line > 0 ? kTimes / line : creep) + 2 * passage_time());
  }
  if (is_at_rest()) return 10;
  const double rate = final_rate(chain_, limit_, limit_point());
  return two_digits(passage_time() + (rate > 0 ? kTimes / rate : creep));
}

double Markov::first_stage_time() const {
  // An approach at a rate of order 1 is no separate stage. Near w = -1/sqrt 2 the rate goes to 0.
  constexpr double kSlow = 0.01;
  if (free_bias_ || is_at_rest() || final_rate(chain_, limit_, limit_point()) > kSlow) return 0;
  return two_digits(passage_time());
}

std::vector<Note> Markov::notes() const {
  std::vector<Note> notes = notes_;
  const LimitPoint end = limit_point();
  if (chain_.independent())
    notes.push_back(
        {"p + q = 1: successive symbols are independent, so there is nothing to learn, and every "
         "limit has the lowest loss"});
  if (!free_bias_) {
    std::string text = "global minima have slope " + in_short(chain_.best_slope);
    if (is_at_rest())
      text += "; the start is at rest (" + word(limit_) + ")";
    else
      text += "; this start tends to e = " + in_short(end.e) + ", w = " + in_short(end.w) + " (" +
              word(limit_) + ")";
    notes.push_back({text});
    if (start_.w < 0 && start_.e != 0 && !chain_.independent() &&
        std::abs(separation(start_.e, start_.w)) < 1e-5)
      notes.push_back({"the start is " + in_short(energy_above_saddle(start_.e, start_.w)) +
                       " in energy from the separatrix: choose --rtol so small that the drift of "
                       "the energy stays below this"});
  }
  if (!free_bias_ && w_vanishes())
    notes.push_back(
        {"on its way w falls below 1e-270, near the smallest double, and is then frozen: the "
         "energy "
         "is no longer conserved, but the limit is the same"});
  if (final_rate(chain_, limit_, end) * default_end() > 1e5)
    notes.push_back({"the flow is stiff: --method rosenbrock4 takes far fewer steps"});
  return notes;
}

void Markov::start(std::span<double> x) const {
  x[0] = start_.e;
  x[1] = start_.w;
  if (free_bias_) x[2] = start_.b;
}

Logits Markov::logits(std::span<const double> x) const {
  if (!free_bias_) return optimal_logits(chain_, x[0], x[1]);
  const double f0 = x[2] - x[0] * x[0] / 2;
  const double s = markov::slope(x[0], x[1]);
  return {f0, f0 + s, x[2], s};
}

Gradient Markov::gradient(std::span<const double> x) const {
  Gradient g = slope_of_loss(x);
  if (!free_bias_) g.logits = logits(x);
  return g;
}

Gradient Markov::slope_of_loss(std::span<const double> x) const {
  const double w = acting(x[1]);
  Gradient g;
  g.slope = markov::slope(x[0], w);
  ByLogits<double> by{};
  if (free_bias_) {
    g.logits = logits(x);
    by = by_logits(coin_numbers(chain_), g.logits.f0, g.logits.f1);
  } else {
    by = by_logits(pair_numbers(chain_), g.slope);
  }
  g.g0 = by.g0;
  g.g1 = by.g1;
  const ByState<double> of_state = markov::gradient(by, x[0], w);
  g.by_e = of_state.e;
  g.by_w = of_state.w;
  if (free_bias_) g.by_b = of_state.b;
  return g;
}

void Markov::rhs(StateView x, double /*t*/, std::span<double> dxdt) const {
  const Gradient g = slope_of_loss(x);
  dxdt[0] = -g.by_e;
  dxdt[1] = -g.by_w;
  if (free_bias_) dxdt[2] = -g.by_b;
}

/// Loss above that of the limit. With the optimal bias it is a function of (e, w) alone, whose
/// gradient is the partial one at that bias (envelope theorem).
double Markov::loss(StateView x, double /*t*/) const { return above_limit(x); }

/// Written by hand: dual numbers differentiate the quotients that formulas.hpp has for lanes, which
/// gives other last digits than the closed form of the curvature.
void Markov::jacobian(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> j,
                      std::span<double> time_derivative) const {
  std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
  const double e = x[0];
  const double w = acting(x[1]);
  const double k = 1 + 2 * w * std::abs(w);
  const Eigen::Vector2d slope_by(2 * e * k, 4 * e * e * std::abs(w));
  const double by_ww = w == 0 ? 0 : std::copysign(4 * e * e, w);
  Eigen::Matrix2d slope_by_twice;
  slope_by_twice << 2 * k, 8 * e * std::abs(w), 8 * e * std::abs(w), by_ww;
  const Gradient g = gradient(x);
  if (!free_bias_) {
    const double curvature = model_pairs(chain_, g.slope).curvature;
    j = -g.g1 * slope_by_twice - curvature * slope_by * slope_by.transpose();
    return;
  }
  const LogitDerivatives<double> f = logit_derivatives(x[0], w);
  const Eigen::Vector3d f0_by(f.of0.e, f.of0.w, f.of0.b), f1_by(f.of1.e, f.of1.w, f.of1.b);
  const double v0 = chain_.pi0 * sigmoid(g.logits.f0) * sigmoid(-g.logits.f0);
  const double v1 = chain_.pi1 * sigmoid(g.logits.f1) * sigmoid(-g.logits.f1);
  j = -v0 * f0_by * f0_by.transpose() - v1 * f1_by * f1_by.transpose();
  j.topLeftCorner(2, 2) -= g.g1 * slope_by_twice;
  j(0, 0) += g.g0 + g.g1;
}

void Markov::observe(StateView x, double /*t*/, std::span<double> values) const {
  const Gradient g = gradient(x);
  observables().evaluate({chain_, x[0], x[1], g, excess(x)}, values);
}

void Markov::observe_lanes(const double* x, const double* t, double* values) const {
  constexpr std::size_t kNumbers = kOptimalObservables * kLanes;
  alignas(64) std::array<double, kNumbers + kLanes> rows;
  observe_optimal_lanes(chain_, x, rows.data());
  std::copy_n(rows.begin(), kNumbers, values);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (rows[kNumbers + lane] != 0) continue;
    const std::array<double, 2> state = {x[lane], x[kLanes + lane]};
    std::array<double, kOptimalObservables> alone = {};
    observe({state, {}}, t[lane], alone);
    for (std::size_t k = 0; k < alone.size(); ++k) values[k * kLanes + lane] = alone[k];
  }
}

void Markov::field(std::string_view name, StateView x, double /*t*/, const FieldSink& sink) const {
  const double value = name == "e" ? x[0] : name == "w" ? x[1] : logits(x).bias;
  sink(0, {&value, 1});
}

/// Loss above that of the limit. For a free bias, whose limit is unknown, the loss above that of
/// the limit with the optimal bias. Accurate near either limit.
double Markov::above_limit(std::span<const double> x) const {
  return limit_ == Limit::global ? excess(x) : above_line(x);
}

double Markov::excess(std::span<const double> x) const {
  return free_bias_ ? excess_loss(chain_, logits(x))
                    : excess_loss_at(chain_, markov::slope(x[0], x[1]));
}

double Markov::above_line(std::span<const double> x) const {
  return free_bias_ ? loss_above_line(chain_, logits(x))
                    : loss_above_line_at(chain_, markov::slope(x[0], x[1]));
}

void Markov::event_functions(StateView x, double /*t*/, std::span<double> values) const {
  if (!values.empty()) events().evaluate({markov::slope(x[0], x[1]), settled_}, values);
}

std::string Markov::outcome(StateView x, double /*t*/) const {
  if (noisy_) return outcome_noisy(x);
  return free_bias_ ? outcome_free(x) : outcome_optimal(x);
}

std::string Markov::outcome_optimal(std::span<const double> x) const {
  const std::string decided = word(limit_);
  if (is_at_rest() || limit_ == Limit::maximum) return decided;
  // The integrated state must still be on the start's side of the separatrix.
  if (limit_ == Limit::saddle) {
    const bool near = std::abs(separation(x[0], x[1])) < 0.5;
    return near && line_attracts(chain_, x[1]) ? decided : "undecided";
  }
  return limit_of(chain_, x[0], x[1]) == limit_ ? decided : "undecided";
}

std::string Markov::outcome_free(std::span<const double> x) const {
  // Critical points are the global minima, and the line e = 0 with the stationary bias.
  constexpr double kSmall = 1e-6;
  const Gradient g = gradient(x);
  const double line = std::abs(chain_.slope_at_line);
  const double excess = excess_loss(chain_, g.logits);
  if (chain_.independent()) return excess < kSmall * chain_.entropy ? "global" : "undecided";
  // The loss can only fall, and on the line it equals the stationary entropy, so the state cannot
  // return to the line.
  if (excess < 0.01 * (chain_.entropy - chain_.entropy_rate)) return "global";
  if (!(math::hypot(math::hypot(g.by_e, g.by_w), g.by_b) <= kSmall * line)) return "undecided";
  const double e = x[0];
  const double w = x[1];
  if (e == 0) return word(limit_of(chain_, e, w));
  // Far below the separatrix on the attracting side, e decays before w can leave that side.
  const bool below = w < 0 ? separation(e, w) < -0.9 : e * e < 1e-3;
  return below && line_attracts(chain_, w) ? "local" : "undecided";
}

std::string Markov::outcome_noisy(std::span<const double> x) const {
  // Noise can carry a run from one basin to the other, so the final position decides, with a margin
  // for the remaining noise.
  constexpr double kNear = 0.1;
  const double gap = chain_.entropy - chain_.entropy_rate;
  const double excess = this->excess(x);
  if (chain_.independent()) return excess < 1e-3 * chain_.entropy ? "global" : "undecided";
  if (excess < kNear * gap) return "global";
  const double e = x[0];
  const double w = x[1];
  if (e == 0) return word(limit_of(chain_, e, w));
  const bool below = w < 0 ? separation(e, w) < kNear - 1 : e * e < kNear * kNear;
  const bool flat = std::abs(above_line(x)) < kNear * gap;
  return below && flat && line_attracts(chain_, w) ? "local" : "undecided";
}

}  // namespace popflow::markov
