#include "dynamics/joma/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "dynamics/joma/token.hpp"
#include "popflow/pack.hpp"

namespace popflow::joma {

namespace {

using std::size_t;

/// Parameters: three numbers for the attention, three for each token, and all levels of passages.
template <class Number>
struct Rows {
  Rows(std::span<const Number> of, size_t tokens)
      : attention{of[0], of[1], of[2]},
        along(of.subspan(kCommon, tokens)),
        length(of.subspan(kCommon + tokens, tokens)),
        across(of.subspan(kCommon + 2 * tokens, tokens)),
        levels(of.subspan(kCommon + 3 * tokens)) {}
  static constexpr size_t kCommon = 3;

  /// S of a token and its growth, from its progress s.
  template <bool has_target>
  [[nodiscard]] POPFLOW_MATH_INLINE Motion<Number> motion(size_t i, const Number& s) const {
    Motion<Number> motion =
        has_target ? target_motion(along[i], length[i], s) : drive_motion(along[i], length[i], s);
    motion.square += across[i];
    return motion;
  }

  AttentionNumbers<Number> attention;
  std::span<const Number> along, length, across, levels;
};
template <class Number>
Rows(std::span<const Number>, size_t) -> Rows<Number>;

size_t parameters_of(size_t tokens, size_t levels) {
  return Rows<double>::kCommon + 3 * tokens + levels;
}

template <Form form, bool has_target>
constexpr auto flow = [](auto of, auto x, auto dxdt) {
  const size_t tokens = x.size();
  const Rows rows(of, tokens);
  if constexpr (form == Form::softmax) {
    std::remove_cvref_t<decltype(*dxdt)> most = 0, sum = 0;
    for (size_t i = 0; i < tokens; ++i) {
      dxdt[i] = rows.template motion<has_target>(i, x[i]).square;
      most = math::max(most, dxdt[i]);
    }
    const auto largest = most * rows.attention.inverse;
    for (size_t i = 0; i < tokens; ++i) {
      dxdt[i] = softmax_weight(rows.attention.inverse, largest, dxdt[i]);
      sum += dxdt[i];
    }
    const auto factor = 1 / sum;
    for (size_t i = 0; i < tokens; ++i) dxdt[i] *= factor;
  } else {
    for (size_t i = 0; i < tokens; ++i)
      dxdt[i] = weight_of<form>(rows.attention, rows.template motion<has_target>(i, x[i]).square);
  }
};

/// Events with their heights.
template <Form form, bool has_target>
constexpr auto events = [](auto of, auto x, auto values) {
  using Number = std::remove_cvref_t<decltype(*values)>;
  const Rows rows(of, x.size());
  // The token with the largest attention, to which all others are compared.
  Number reference = 0;
  Motion<Number> most{-1, 0};
  Motion<Number> motions[kMostTokensInLanes];
  for (size_t i = 0; i < x.size(); ++i) {
    const Motion<Number>& motion = motions[i] = rows.template motion<has_target>(i, x[i]);
    const auto more = motion.square > most.square;
    reference = math::select(more, Number(static_cast<double>(i)), reference);
    most.square = math::select(more, motion.square, most.square);
    most.growth = math::select(more, motion.growth, most.growth);
  }
  const Number unit = root_of(rows.attention, most.square);
  const Number reference_rate = rate_of<form>(rows.attention, unit, most, {0, 1});
  EntropySums<Number> sums;
  for (size_t i = 0; i < x.size(); ++i) {
    const Motion<Number>& motion = motions[i];
    Share<Number> share = share_of<form>(rows.attention, motion.square, most.square);
    const Number rate = rate_of<form>(rows.attention, unit, motion, share);
    share.p = math::select(reference == static_cast<double>(i), Number(0), share.p);
    sums.add(sums_of_token(share, rate, reference_rate,
                           size_of<form>(rows.attention, motion.square, most.square)));
  }
  const EntropyRate<Number> rate = entropy_rate_of(sums);
  const Number entropy = entropy_of(sums);
  values[0] = falling(rate);
  values[1] = rising(rate);
  values[2] = -entropy;
  values[3] = entropy;
};

constexpr auto passages = [](auto of, auto x, auto values) {
  const Rows rows(of, x.size());
  for (size_t i = 0; i < rows.levels.size(); ++i) values[i] = x[i % x.size()] - rows.levels[i];
};

template <Form form, bool has_target>
LaneFormulas formulas() {
  // A softmax changes neither shares nor rates relative to the reference.
  constexpr Form relative = form == Form::softmax ? Form::exponential : form;
  return {{},
          in_lanes(flow<form, has_target>),
          nullptr,
          in_lanes(events<relative, has_target>),
          has_target ? in_lanes(passages) : nullptr};
}

LaneFormulas formulas_of(const Attention& attention, bool has_target) {
  const auto with = [&]<Form form>() {
    return has_target ? formulas<form, true>() : formulas<form, false>();
  };
  if (std::isfinite(attention.highest_exponent)) return formulas<Form::held, true>();
  switch (attention.kind) {
    case Attention::Kind::softmax:
      return with.operator()<Form::softmax>();
    case Attention::Kind::linear:
      return with.operator()<Form::linear>();
    default:
      return with.operator()<Form::exponential>();
  }
}

}  // namespace

LaneFormulas reduced_lanes(const ReducedProblem& of) {
  const bool has_target = of.problem.has_target;
  LaneFormulas formulas = formulas_of(of.attention, has_target);
  const size_t tokens = of.lines.size();
  const auto levels = has_target ? static_cast<size_t>(of.problem.goal.size()) : 0;
  formulas.sizes = {parameters_of(tokens, levels), tokens};
  return formulas;
}

void reduced_parameters(const ReducedProblem& problem, std::span<double> of) {
  const AttentionNumbers<double> numbers = problem.attention.numbers();
  of[0] = numbers.inverse;
  of[1] = numbers.offset;
  of[2] = numbers.highest;
  auto next = of.begin() + Rows<double>::kCommon;
  for (const std::vector<double>* row :
       {&problem.lines.along, &problem.lines.length, &problem.lines.across})
    next = std::copy(row->begin(), row->end(), next);
  if (!problem.problem.has_target) return;
  const Matrix levels = passage_levels(problem.problem, problem.start);
  std::copy_n(levels.data(), levels.size(), next);
}

}  // namespace popflow::joma
