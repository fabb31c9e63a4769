#include "flow/lane_dopri5.hpp"

#include <bit>
#include <cstdint>

#include "popflow/widest.hpp"

namespace popflow {

namespace {

using dopri5::kStages;
using dopri5::Slopes;
using std::size_t;

POPFLOW_WIDEST void advance_entry(size_t stage, const double* x, const double* h, const Slopes& k,
                                  double* out) {
  dopri5::advance(stage, kLanes, x, h, k, out);
}

/// Raises `worst` to this entry's error in units of the tolerance.
POPFLOW_WIDEST void judge_entry(const double* __restrict x, const double* __restrict x_new,
                                const double* __restrict h, const Slopes& k,
                                const double* __restrict atol, const double* __restrict rtol,
                                double* __restrict worst) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double error = dopri5::error_at(l, x, x_new, h[l], k, atol[l], rtol[l]);
    // Either may be NaN, and stays so.
    const double high = error > worst[l] ? error : worst[l];
    worst[l] = high + 0 * error;
  }
}

/// Adds the square of the same to `sum`.
POPFLOW_WIDEST void add_square_of_entry(const double* __restrict x, const double* __restrict x_new,
                                        const double* __restrict h, const Slopes& k,
                                        const double* __restrict atol,
                                        const double* __restrict rtol, double* __restrict sum) {
  for (size_t l = 0; l < kLanes; ++l) {
    const double error = dopri5::error_at(l, x, x_new, h[l], k, atol[l], rtol[l]);
    sum[l] += error * error;
  }
}

POPFLOW_WIDEST void root_of_mean(size_t entries, double* __restrict sum) {
  for (size_t l = 0; l < kLanes; ++l) sum[l] = std::sqrt(sum[l] / static_cast<double>(entries));
}

/// x^(-1/5) within 2 ulp, for x that single precision holds as normal numbers.
inline double inverse_fifth_root(double x) {
  // A number's bits are nearly its logarithm, from which a guess follows within 4%; each of
  // Newton's steps turns an error e into 3 e^2.
  constexpr float kBitsOfOne = 1.2F * (127 - 0.05F) * (1 << 23);
  const auto bits = std::bit_cast<std::int32_t>(static_cast<float>(x));
  const auto guess = static_cast<std::int32_t>(kBitsOfOne - 0.2F * static_cast<float>(bits));
  double y = std::bit_cast<float>(guess);
  const double a = 0.2 * x;
  for (int step = 0; step < 4; ++step) {
    const double square = y * y;
    y = y * (1.2 - (a * y) * (square * square));
  }
  return y;
}

/// step_factor() of stepper.hpp.
POPFLOW_WIDEST void choose_factor(const double* __restrict error, double* __restrict factor) {
  for (size_t l = 0; l < kLanes; ++l) {
    // At these ends the factor has long been at its own.
    const double above = error[l] > 1e-4 ? error[l] : 1e-4;
    const double wanted = 0.9 * inverse_fifth_root(above < 1e4 ? above : 1e4);
    const double most = wanted < 5 ? wanted : 5;
    factor[l] = most > 0.2 ? most : 0.2;
  }
}

POPFLOW_WIDEST void take(const double* __restrict where, const double* __restrict from,
                         double* __restrict to) {
  for (size_t l = 0; l < kLanes; ++l) to[l] = where[l] != 0 ? from[l] : to[l];
}

}  // namespace

LaneDopri5::LaneDopri5(const LaneFormulas& formulas, ErrorNorm norm)
    : of(formulas.sizes.parameters),
      x(formulas.sizes.entries),
      tolerance(formulas.sizes.entries + 1),
      h(1),
      x_new(formulas.sizes.entries),
      error(1),
      factor(1),
      formulas_(formulas),
      norm_(norm),
      entries_(formulas.sizes.entries),
      k_(kStages, LaneRows(entries_)),
      slopes_(entries_),
      between_(entries_) {
  for (size_t i = 0; i < entries_; ++i)
    for (size_t j = 0; j < kStages; ++j) slopes_[i].of[j] = k_[j].data() + i * kLanes;
}

void LaneDopri5::begin(const double* fresh) {
  formulas_.flow(formulas_.sizes, of.data(), x.data(), between_.data());
  for (size_t i = 0; i < entries_; ++i)
    take(fresh, between_.data() + i * kLanes, k_[0].data() + i * kLanes);
}

void LaneDopri5::attempt() {
  for (size_t stage = 1; stage < kStages; ++stage) {
    double* out = stage + 1 < kStages ? between_.data() : x_new.data();
    for (size_t i = 0; i < entries_; ++i)
      advance_entry(stage, x.data() + i * kLanes, h.data(), slopes_[i], out + i * kLanes);
    formulas_.flow(formulas_.sizes, of.data(), out, k_[stage].data());
  }
  error.clear();
  const auto judge = norm_ == ErrorNorm::rms ? add_square_of_entry : judge_entry;
  for (size_t i = 0; i < entries_; ++i)
    judge(x.data() + i * kLanes, x_new.data() + i * kLanes, h.data(), slopes_[i],
          tolerance.data() + i * kLanes, tolerance.data() + entries_ * kLanes, error.data());
  if (norm_ == ErrorNorm::rms) root_of_mean(entries_, error.data());
  choose_factor(error.data(), factor.data());
}

void LaneDopri5::accept(const double* accepted) {
  for (size_t i = 0; i < entries_ * kLanes; i += kLanes) {
    take(accepted, x_new.data() + i, x.data() + i);
    take(accepted, k_[kStages - 1].data() + i, k_[0].data() + i);
  }
}

void LaneDopri5::stages(std::size_t lane, std::span<std::array<double, 7>> slopes) const {
  for (size_t i = 0; i < entries_; ++i)
    for (size_t j = 0; j < kStages; ++j) slopes[i][j] = k_[j].data()[i * kLanes + lane];
}

}  // namespace popflow
