#include "dynamics/joma/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "dynamics/joma.hpp"
#include "dynamics/joma/clock.hpp"
#include "dynamics/joma/closed_form.hpp"
#include "popflow/datasets.hpp"
#include "popflow/error.hpp"
#include "popflow/math.hpp"
#include "popflow/parameter.hpp"

namespace popflow::joma {

namespace {

using Kind = Attention::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// At the default end the last tokens have learned all but e^-5 of their targets.
constexpr double kLearned = 5;
// With softmax, slow tokens can take e^100 times as long as fast ones: the default end ignores
// them.
constexpr double kLongestEnd = 1e6;
// A token whose S/(2 tau^2) exceeds this jumps to its target.
constexpr double kJumpsBeyond = 33;

}  // namespace

Joma::Joma(Problem problem, Attention attention, Start start, bool reduced, Workers& workers)
    : problem_(std::move(problem)),
      attention_(attention),
      start_(std::move(start)),
      workers_(workers),
      lines_(start_),
      reduced_(reduced),
      events_({}),
      softmax_([this] {
        return std::make_unique<Softmax>(Softmax{std::vector<Attention::Part>(pieces()),
                                                 std::vector<double>(reduced_ ? 0 : tokens())});
      }) {
  hold_rates();
  coordinates_ =
      reduced ? reduced_coordinates(problem_, start_, lines_) : full_coordinates(problem_, start_);
  if (reduced && in_parts())
    parts_ =
        std::make_unique<Parts>(problem_, start_, lines_, attention_, peak_exponent(), workers_);
  if (reduced) lanes_ = reduced_lanes(this->reduced());
  describe();
  events_ = event_table().select(shape_.events);
}

const SystemInfo& Joma::info() const { return joma::info(); }

Capabilities Joma::capabilities() const {
  Capabilities can{
      .jacobian = this,
      .events = this,
      .sampled =
          Lacking{"joma has no data model, because its drives and targets stand for the data; "
                  "'popflow compare "
                  "joma-joint --rungs flow,integrated,sgd' compares this flow with sampled SGD"}};
  can.no_other_rule =
      "the attention follows from the weights only along gradient flow; joma-joint trains both";
  if (parts_) can.separable = parts_.get();
  can.jumps = std::isfinite(attention_.highest_exponent);
  if (!reduced_)
    can.in_lanes = Lacking{"lanes exist only in --coordinates reduced"};
  else if (fit_lanes(tokens(), problem_.has_target ? nodes() : 0))
    can.in_lanes = this;
  else
    can.in_lanes = Lacking{"lanes pay off for up to " + std::to_string(kMostTokensInLanes) +
                           " tokens and " + std::to_string(kMostTargetsInLanes) + " targets"};
  // With drives, exponential and linear attention have a closed form.
  if (!problem_.has_target && attention_.kind != Kind::softmax) can.closed_form = this;
  if (reduced_)
    can.no_noise =
        "with noise only --coordinates full is exact, because noise moves each v_kl off the line "
        "of "
        "--coordinates reduced";
  return can;
}

/// Largest S/(2 tau^2) at the start or, with targets, on the way.
double Joma::peak_exponent() const {
  double peak = 0;
  for (std::size_t l = 0; l < tokens(); ++l) {
    const Line line = lines_.at(l);
    double y = std::abs(line.along);
    if (problem_.has_target) y = std::max(y, std::abs(line.end()));
    peak = std::max(peak, (y * y + line.across) * attention_.inverse());
  }
  return peak;
}

/// Exponent at which the slowest token is slowest on its way to a target: the largest of the
/// tokens' minima of S/(2 tau^2).
double Joma::slowest_exponent() const {
  double slowest = 0;
  for (std::size_t l = 0; l < tokens(); ++l) {
    const Line line = lines_.at(l);
    if (line.length == 0) continue;  // the token does not move
    const bool through_0 = (line.along < 0) != (line.end() < 0);
    const double y = through_0 ? 0 : std::min(std::abs(line.along), std::abs(line.end()));
    slowest = std::max(slowest, (y * y + line.across) * attention_.inverse());
  }
  return slowest;
}

/// Holds rates of tokens with distant targets. A target far beyond 8 tau is reached within the
/// rounding of the time that the token took to reach 8 tau. Such rates are held at e^27 times those
/// at which a token is slowest. The token still passes 90% of its target within 4e-12 mu/tau of the
/// right time, with steps of feasible size.
void Joma::hold_rates() {
  if (attention_.kind != Kind::exponential) return;
  const double peak = peak_exponent();
  if (problem_.has_target) {
    constexpr double kMost = 130;  // e^130 t is integrated accurately, e^170 t is not
    if (peak > kJumpsBeyond) attention_.highest_exponent = std::min(27 + slowest_exponent(), kMost);
  } else if (peak > 300) {
    throw UsageError("the start has attention e^" + shortest(two_digits(peak)) +
                     ": the flow blows up at a time that rounds to 0; use a smaller "
                     "start, a larger --temperature or --attention softmax");
  }
}

/// Whether parts have their own step sizes. With softmax, tokens are independent in the rescaled
/// time of exponential attention. But drives blow up in this time, and tokens with distant targets
/// jump, which takes many more steps than in t.
bool Joma::in_parts() const {
  return attention_.kind != Kind::softmax ||
         (problem_.has_target && peak_exponent() <= kJumpsBeyond);
}

/// Scale of the state's entries: v changes the attention by a factor when it moves by tau or, with
/// linear attention, by its own size.
double Joma::scale() const {
  double scale = kInfinity;
  for (std::size_t l = 0; l < tokens(); ++l) {
    const Line line = lines_.at(l);
    if (line.length == 0) continue;
    double size = attention_.temperature;
    if (attention_.kind == Kind::linear) {
      size = std::sqrt(line.along * line.along + line.across + attention_.offset);
      if (size == 0) continue;
    }
    if (reduced_) size /= line.length;
    scale = std::min(scale, size);
  }
  if (problem_.has_target && reduced_) scale = std::min(scale, 1.0);
  return std::isfinite(scale) ? std::max(scale, 1e-100) : 1;
}

void Joma::describe() {
  const auto nodes = static_cast<std::size_t>(problem_.goal.rows());
  shape_.blocks = {{coordinates_->block(), coordinates_->size(), scale()}};
  shape_.dimensions = {dimension(info(), "node", nodes), dimension(info(), "token", tokens())};
  shape_.fields = {"v"};
  shape_.events = {"entropy_falls", "entropy_minimum"};
  if (problem_.has_target) shape_.passages = {"time_to_90"};
  if (!problem_.has_target && attention_.kind == Kind::exponential &&
      std::isfinite(first_blow_up()))
    shape_.constants = {{"blow_up_time", first_blow_up()}};
}

GroupSpec Joma::problem() const {
  GroupSpec group;
  group.name = "problem";
  VariableSpec goal = problem_.has_target
                          ? dataset("target", {"node", "token"}, "target that v is drawn to")
                          : dataset("drive", {"node", "token"}, "constant drive of v");
  goal.data = row_major(problem_.goal);
  group.variables.push_back(std::move(goal));
  if (!start_.standard) {
    VariableSpec v0 = dataset("v0", {"node", "token"}, "start of v");
    v0.data = row_major(start_.v0);
    group.variables.push_back(std::move(v0));
  }
  return group;
}

// ---- the flow

void Joma::rhs(StateView x, double /*t*/, std::span<double> dxdt) const {
  if (attention_.kind != Kind::softmax) {
    in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t) {
      double b[kStretch];
      for (std::size_t from = begin; from < end; from += kStretch) {
        const std::size_t to = std::min(end, from + kStretch);
        double* out = reduced_ ? dxdt.data() + from : b;
        coordinates_->squares(x.data(), from, to, out);
        attention_.apply(to - from, out);
        coordinates_->derivative(x.data(), out, from, to, dxdt.data());
      }
    });
    return;
  }
  const auto softmax = softmax_.borrow();
  std::vector<Attention::Part>& parts = softmax->parts;
  double* b = reduced_ ? dxdt.data() : softmax->weights.data();
  in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t piece) {
    coordinates_->squares(x.data(), begin, end, b + begin);
    parts[piece] = attention_.apply_softmax(end - begin, b + begin);
  });
  Attention::softmax_factors(parts);
  in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t piece) {
    const double factor = parts[piece].sum;
    for (std::size_t l = begin; l < end; ++l) b[l] *= factor;
    coordinates_->derivative(x.data(), b + begin, begin, end, dxdt.data());
  });
}

/// Written by hand: the flow is not one formula (its kernels sum over all tokens), and dual numbers
/// would add the terms in another order, which changes the last digits.
void Joma::jacobian(StateView x, double /*t*/, Eigen::Ref<Eigen::MatrixXd> j,
                    std::span<double> time_derivative) const {
  const auto M = static_cast<Eigen::Index>(tokens());
  Eigen::VectorXd b(M);
  Eigen::VectorXd slope(M);
  coordinates_->squares(x.data(), 0, tokens(), b.data());
  for (Eigen::Index l = 0; l < M; ++l) slope[l] = attention_.log_slope(b[l]);
  Eigen::MatrixXd by_square;
  if (attention_.kind == Kind::softmax) {
    std::vector<Attention::Part> part = {attention_.apply_softmax(tokens(), b.data())};
    Attention::softmax_factors(part);
    b *= part[0].sum;
    by_square = -b * b.cwiseProduct(slope).transpose();
    by_square.diagonal() += b.cwiseProduct(slope);
  } else {
    attention_.apply(tokens(), b.data());
    by_square = b.cwiseProduct(slope).asDiagonal();
  }
  coordinates_->jacobian(x.data(), b, by_square, j);
  std::fill(time_derivative.begin(), time_derivative.end(), 0.0);
}

// ---- observables and events

void Joma::event_functions(StateView x, double /*t*/, std::span<double> values) const {
  events_.evaluate(attention_entropy().rate(x), values);
}

double Joma::event_height(std::size_t event, StateView x, double /*t*/) const {
  return event == 0 ? -attention_entropy().at(x) : attention_entropy().at(x);
}

void Joma::learned(std::span<const double> x, double& low, double& high) const {
  low = high = kNone;
  if (!problem_.has_target) return;
  struct Range {
    double low = kInfinity, high = -kInfinity;
  };
  const auto nodes = static_cast<std::size_t>(problem_.goal.rows());
  std::vector<Range> parts(pieces());
  in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t piece) {
    double v[kStretch];
    for (std::size_t k = 0; k < nodes; ++k) {
      const double* goal = problem_.goal.data() + k * tokens();
      for (std::size_t from = begin; from < end; from += kStretch) {
        const std::size_t to = std::min(end, from + kStretch);
        coordinates_->values(x.data(), k, from, to, v);
        for (std::size_t l = from; l < to; ++l) {
          if (goal[l] == 0) continue;
          const double part = v[l - from] / goal[l];
          parts[piece].low = std::min(parts[piece].low, part);
          parts[piece].high = std::max(parts[piece].high, part);
        }
      }
    }
  });
  Range all;
  for (const Range& part : parts) {
    all.low = std::min(all.low, part.low);
    all.high = std::max(all.high, part.high);
  }
  if (all.low > all.high) return;
  low = all.low;
  high = all.high;
}

std::vector<double> Joma::clocks(std::span<const double> x) const {
  std::vector<double> clocks(tokens(), kNone);
  if (!problem_.has_target) return clocks;
  in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t) {
    coordinates_->progress(x.data(), begin, end, clocks.data() + begin);
    clocks_of(attention_, lines_, begin, end - begin, clocks.data() + begin);
  });
  return clocks;
}

double Joma::clock_spread(std::span<const double> x) const {
  double low = kInfinity;
  double high = -kInfinity;
  double sum = 0;
  double count = 0;
  for (const double clock : clocks(x)) {
    if (!std::isfinite(clock)) continue;
    low = std::min(low, clock);
    high = std::max(high, clock);
    sum += clock;
    ++count;
  }
  if (count == 0) return kNone;
  return sum == 0 ? 0 : (high - low) / (sum / count);
}

void Joma::observe(StateView x, double /*t*/, std::span<double> values) const {
  Evaluation evaluation;
  evaluation.entropy = attention_entropy().at(x);
  learned(x, evaluation.learned_min, evaluation.learned_max);
  evaluation.clock_spread = clock_spread(x);
  observable_table().evaluate(evaluation, values);
}

void Joma::field(std::string_view /*name*/, StateView x, double /*t*/,
                 const FieldSink& sink) const {
  for (std::size_t k = 0; k < static_cast<std::size_t>(problem_.goal.rows()); ++k) {
    in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<double> v(end - begin);
      coordinates_->values(x.data(), k, begin, end, v.data());
      sink(k * tokens() + begin, v);
    });
  }
}

void Joma::passage_functions(StateView x, double /*t*/, std::span<double> values) const {
  if (!problem_.has_target) return;
  for (std::size_t k = 0; k < static_cast<std::size_t>(problem_.goal.rows()); ++k) {
    in_pieces(workers_, tokens(), [&](std::size_t begin, std::size_t end, std::size_t) {
      coordinates_->passages(x.data(), k, begin, end, values.data() + k * tokens() + begin);
    });
  }
}

Matrix Joma::values(std::span<const double> x) const {
  Matrix v(problem_.goal.rows(), problem_.goal.cols());
  for (Eigen::Index k = 0; k < v.rows(); ++k)
    coordinates_->values(x.data(), static_cast<std::size_t>(k), 0, tokens(), v.row(k).data());
  return v;
}

Matrix Joma::deviations(std::span<const double> x) const {
  Matrix d(problem_.goal.rows(), problem_.goal.cols());
  for (Eigen::Index k = 0; k < d.rows(); ++k)
    coordinates_->deviations(x.data(), static_cast<std::size_t>(k), 0, tokens(), d.row(k).data());
  return d;
}

double Joma::first_blow_up() const {
  double first = kInfinity;
  for (std::size_t l = 0; l < tokens(); ++l)
    first = std::min(first, blow_up_time(attention_, lines_.at(l)));
  return first;
}

void Joma::closed_form(double t, std::span<double> x) const {
  std::vector<double> s(tokens());
  for (std::size_t l = 0; l < tokens(); ++l) s[l] = progress_at(attention_, lines_.at(l), t);
  coordinates_->from_progress(s.data(), x.data());
}

// ---- default end and notes

double Joma::default_end() const {
  struct Tokens {
    double longest = 0;         // clock value at which all have nearly learned
    double weights = 0;         // final sum of attention before its softmax
    double fastest = 0;         // longest line
    double sooner = kInfinity;  // first blow-up if the attention were exponential
    void add(const Tokens& more) {
      longest = std::max(longest, more.longest);
      weights += more.weights;
      fastest = std::max(fastest, more.fastest);
      sooner = std::min(sooner, more.sooner);
    }
  };
  std::vector<Tokens> parts((tokens() + kPiece - 1) / kPiece);
  in_pieces(workers_, tokens(), [&](std::size_t first, std::size_t last, std::size_t piece) {
    Tokens& part = parts[piece];
    for (std::size_t l = first; l < last; ++l) {
      const Line line = lines_.at(l);
      part.fastest = std::max(part.fastest, line.length);
      const double y = problem_.has_target ? line.end() : line.along;
      part.weights += math::exp(std::min((y * y + line.across) * attention_.inverse(), 600.0));
      if (problem_.has_target) {
        const double clock = clock_of(attention_, line, kLearned);
        if (std::isfinite(clock)) part.longest = std::max(part.longest, clock);
      } else if (attention_.kind != Kind::linear) {
        part.sooner = std::min(part.sooner, blow_up_time(attention_, line));
      }
    }
  });
  Tokens all;
  for (const Tokens& part : parts) all.add(part);
  double end = 0;
  if (problem_.has_target) {
    end = all.longest;
    if (attention_.kind == Kind::exponential) end *= math::exp(-attention_.offset);
    if (attention_.kind == Kind::softmax) end *= all.weights;
  } else if (attention_.kind == Kind::exponential) {
    end = std::isfinite(all.sooner) ? 0.95 * all.sooner : 0;  // just before the blow-up
    return end > 0 ? end : 1;
  } else if (all.fastest > 0) {
    end = kLearned * (attention_.kind == Kind::linear ? 1 : attention_.temperature) / all.fastest;
    if (attention_.kind == Kind::softmax) end += all.weights * all.sooner;
  }
  if (!(end > 0)) return 1;
  if (attention_.kind == Kind::softmax) return std::min(two_digits(end), kLongestEnd);
  return std::isfinite(end) ? two_digits(end) : 1;
}

std::vector<Note> Joma::notes() const {
  std::vector<Note> notes;
  if (attention_.kind == Kind::softmax && default_end() == kLongestEnd)
    notes.push_back(
        {"the slowest tokens are learned later than the default end, t = 1e6, because they have "
         "almost no softmax attention; a larger --t-end shows them"});
  if (!shape_.constants.empty()) {
    std::ostringstream text;
    text << "attention blows up at t = " << first_blow_up();
    notes.push_back({text.str()});
  }
  if (std::isfinite(attention_.highest_exponent))
    notes.push_back(
        {"some targets are so large, relative to --temperature, that tokens jump to them. Rates "
         "are held at e^" +
         shortest(two_digits(attention_.highest_exponent)) +
         ", which changes the time of a jump by a fraction below 2e-8 for targets up to 5000 times "
         "the temperature; such tokens have no clock"});
  if (attention_.kind == Kind::linear && attention_.offset == 0) {
    std::size_t idle = 0;
    std::size_t stopped = 0;
    for (std::size_t l = 0; l < tokens(); ++l) {
      const Line line = lines_.at(l);
      if (line.across != 0) continue;
      const bool beyond = problem_.has_target ? line.end() > 0 : line.length > 0;
      idle += line.along == 0 ? 1 : 0;
      stopped += line.along < 0 && beyond ? 1 : 0;
    }
    if (idle > 0)
      notes.push_back({std::to_string(idle) +
                       " tokens start at 0, where linear attention without --offset is 0, and "
                       "never move"});
    if (stopped > 0)
      notes.push_back(
          {std::to_string(stopped) +
               " tokens are drawn towards the other side of 0, where linear attention "
               "without --offset is 0. They should stop there; if numerical errors carry "
               "them across, the times are meaningless. Choose --offset above 0",
           true});
  }
  return notes;
}

}  // namespace popflow::joma
