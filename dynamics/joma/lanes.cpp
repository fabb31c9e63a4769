#include "dynamics/joma/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "dynamics/joma/token.hpp"
#include "numerics/exponential.hpp"
#include "popflow/widest.hpp"

namespace popflow::joma {

namespace {

using std::size_t;

/// What differs from formula to formula.
enum class Form {
  exponential,
  held,  ///< exponential, with targets, whose rates are held at highest_exponent
  softmax,
  linear,
};

// Rows of the parameters: three numbers of the attention, three of each token, all levels.
enum Common : size_t { kInverse, kOffset, kHighest, kCommon };
enum Token : size_t { kAlong, kLength, kAcross, kToken };

inline const double* token(const LaneSizes& sizes, const double* of, Token what, size_t i) {
  return of + (kCommon + what * sizes.entries + i) * kLanes;
}
inline size_t first_level(size_t tokens) { return kCommon + kToken * tokens; }

template <bool has_target>
inline Motion motion(double along, double length, double s) {
  return has_target ? target_motion(along, length, s) : drive_motion(along, length, s);
}

// gcc vectorises a loop over lanes where arrays are told apart: hence __restrict.

/// A token's attention; with softmax its logarithm, whose largest yet goes to `top`.
template <Form form, bool has_target>
inline __attribute__((always_inline)) void attend(const double* __restrict of,
                                                  const double* __restrict along,
                                                  const double* __restrict length,
                                                  const double* __restrict across,
                                                  const double* __restrict s,
                                                  double* __restrict top, double* __restrict out) {
  const double* inverse = of + kInverse * kLanes;
  const double* offset = of + kOffset * kLanes;
  const double* highest = of + kHighest * kLanes;
  for (size_t l = 0; l < kLanes; ++l) {
    const double square = motion<has_target>(along[l], length[l], s[l]).square + across[l];
    if constexpr (form == Form::linear) {
      out[l] = std::sqrt(square + offset[l]);
    } else {
      double z = square * inverse[l];
      if constexpr (form == Form::held) z = z > highest[l] ? highest[l] : z;
      if constexpr (form == Form::softmax) {
        top[l] = z > top[l] ? z : top[l];
        out[l] = z;
      } else {
        out[l] = exponential(z + offset[l]);
      }
    }
  }
}

template <Form form, bool has_target>
POPFLOW_WIDEST void flow(const LaneSizes& sizes, const double* __restrict of,
                         const double* __restrict x, double* __restrict dxdt) {
  double top[kLanes] = {};
  for (size_t i = 0; i < sizes.entries; ++i)
    attend<form, has_target>(of, token(sizes, of, kAlong, i), token(sizes, of, kLength, i),
                             token(sizes, of, kAcross, i), x + i * kLanes, top, dxdt + i * kLanes);
  if constexpr (form != Form::softmax) return;
  double sum[kLanes] = {};
  for (size_t i = 0; i < sizes.entries; ++i)
    for (size_t l = 0; l < kLanes; ++l) {
      double& b = dxdt[i * kLanes + l];
      b = exponential(b - top[l]);
      sum[l] += b;
    }
  for (size_t l = 0; l < kLanes; ++l) sum[l] = 1 / sum[l];
  for (size_t i = 0; i < sizes.entries; ++i)
    for (size_t l = 0; l < kLanes; ++l) dxdt[i * kLanes + l] *= sum[l];
}

/// The token with the largest attention, to which all are compared.
struct Reference {
  double token[kLanes];
  double square[kLanes], growth[kLanes];
  double rate[kLanes];
  double unit[kLanes];  ///< with linear attention: its
};

/// A token's S and growth; whether it is the reference so far.
template <bool has_target>
inline __attribute__((always_inline)) void compare(size_t i, const double* __restrict along,
                                                   const double* __restrict length,
                                                   const double* __restrict across,
                                                   const double* __restrict s,
                                                   double* __restrict squares,
                                                   double* __restrict growths, Reference& best) {
  for (size_t l = 0; l < kLanes; ++l) {
    const auto [part, growth] = motion<has_target>(along[l], length[l], s[l]);
    const double square = part + across[l];
    const bool more = square > best.square[l];
    best.token[l] = more ? static_cast<double>(i) : best.token[l];
    best.square[l] = more ? square : best.square[l];
    best.growth[l] = more ? growth : best.growth[l];
    squares[l] = square;
    growths[l] = growth;
  }
}

/// d log(b)/dt in units of the reference's b, of a token with the share p.
template <Form form>
inline double rate_of(double inverse, double highest, double unit, double square, double growth,
                      const Share& share) {
  if constexpr (form == Form::linear) return root_rate(share.p, growth, unit);
  if constexpr (form == Form::held) {
    const double above = square * inverse - highest;
    const double held = above > 0 ? above : 0;
    return 2 * inverse * growth * exponential(share.w - held);
  }
  return 2 * inverse * growth * share.p;
}

template <Form form>
inline __attribute__((always_inline)) void add(const double* __restrict of, size_t i,
                                               const double* __restrict squares,
                                               const double* __restrict growths,
                                               const Reference& reference,
                                               EntropyRows<kLanes>& sums) {
  const double* inverse = of + kInverse * kLanes;
  const double* offset = of + kOffset * kLanes;
  const double* highest = of + kHighest * kLanes;
  for (size_t l = 0; l < kLanes; ++l) {
    const double most = reference.square[l];
    Share share = form == Form::linear ? root_share((squares[l] + offset[l]) / (most + offset[l]))
                                       : exponential_share((squares[l] - most) * inverse[l]);
    const double rate =
        rate_of<form>(inverse[l], highest[l], reference.unit[l], squares[l], growths[l], share);
    share.p = reference.token[l] == static_cast<double>(i) ? 0 : share.p;
    // Linear attention knows its logarithms to within the rounding of 1.
    const double size = form == Form::linear ? 0 : (squares[l] + most) * inverse[l];
    sums.add(l, share, rate, reference.rate[l], size);
  }
}

template <Form form, bool has_target>
POPFLOW_WIDEST void events(const LaneSizes& sizes, const double* __restrict of,
                           const double* __restrict x, double* __restrict values) {
  double squares[kMostTokensInLanes * kLanes], growths[kMostTokensInLanes * kLanes];
  Reference reference = {};
  for (double& square : reference.square) square = -1;
  for (size_t i = 0; i < sizes.entries; ++i)
    compare<has_target>(i, token(sizes, of, kAlong, i), token(sizes, of, kLength, i),
                        token(sizes, of, kAcross, i), x + i * kLanes, squares + i * kLanes,
                        growths + i * kLanes, reference);
  const double* offset = of + kOffset * kLanes;
  for (size_t l = 0; l < kLanes; ++l) {
    const double most = reference.square[l] + offset[l];
    reference.unit[l] = std::sqrt(most > 0 ? most : 0);
    reference.rate[l] =
        rate_of<form>(of[kInverse * kLanes + l], of[kHighest * kLanes + l], reference.unit[l],
                      reference.square[l], reference.growth[l], {0, 1});
  }
  EntropyRows<kLanes> sums;
  for (size_t i = 0; i < sizes.entries; ++i)
    add<form>(of, i, squares + i * kLanes, growths + i * kLanes, reference, sums);
  for (size_t l = 0; l < kLanes; ++l) {
    const EntropySums of_lane = sums.at(l);
    const EntropyRate rate = entropy_rate_of(of_lane);
    const double entropy = entropy_of(of_lane, logarithm(1 + of_lane.p));
    values[l] = falling(rate);
    values[kLanes + l] = rising(rate);
    values[2 * kLanes + l] = -entropy;
    values[3 * kLanes + l] = entropy;
  }
}

POPFLOW_WIDEST void passages(const LaneSizes& sizes, const double* __restrict of,
                             const double* __restrict x, double* __restrict values) {
  const size_t first = first_level(sizes.entries);
  for (size_t item = 0; item < sizes.parameters - first; ++item) {
    const double* s = x + item % sizes.entries * kLanes;
    const double* level = of + (first + item) * kLanes;
    for (size_t l = 0; l < kLanes; ++l) values[item * kLanes + l] = s[l] - level[l];
  }
}

template <Form form>
LaneFormulas with_targets() {
  return {{}, flow<form, true>, nullptr, events<form, true>, passages};
}

template <Form form>
LaneFormulas formulas_of(bool has_target) {
  if (has_target) return with_targets<form>();
  return {{}, flow<form, false>, nullptr, events<form, false>, nullptr};
}

LaneFormulas formulas_of(const Attention& attention, bool has_target) {
  if (std::isfinite(attention.highest_exponent)) return with_targets<Form::held>();
  switch (attention.kind) {
    case Attention::Kind::softmax:
      return formulas_of<Form::softmax>(has_target);
    case Attention::Kind::linear:
      return formulas_of<Form::linear>(has_target);
    default:
      return formulas_of<Form::exponential>(has_target);
  }
}

}  // namespace

LaneFormulas reduced_lanes(const ReducedProblem& of) {
  const bool has_target = of.problem.has_target;
  LaneFormulas formulas = formulas_of(of.attention, has_target);
  const size_t tokens = of.lines.size();
  const auto levels = has_target ? static_cast<size_t>(of.problem.goal.size()) : 0;
  formulas.sizes = {first_level(tokens) + levels, tokens};
  return formulas;
}

void reduced_parameters(const ReducedProblem& problem, std::span<double> of) {
  const Attention& attention = problem.attention;
  of[kInverse] = attention.inverse();
  of[kOffset] = attention.offset;
  of[kHighest] = attention.highest_exponent;
  auto next = of.begin() + kCommon;
  for (const std::vector<double>* row :
       {&problem.lines.along, &problem.lines.length, &problem.lines.across})
    next = std::copy(row->begin(), row->end(), next);
  if (!problem.problem.has_target) return;
  const Matrix levels = passage_levels(problem.problem, problem.start);
  std::copy_n(levels.data(), levels.size(), next);
}

}  // namespace popflow::joma
