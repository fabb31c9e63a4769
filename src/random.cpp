#include "popflow/random.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "popflow/math.hpp"

namespace popflow {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high_half(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

[[noreturn]] void throw_exhausted() {
  throw std::length_error("a random stream holds 2^33 words; more were requested");
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t run,
                           std::uint64_t step)
    : key_{{low_half(seed), high_half(seed)}} {
  if (step >> 56 != 0)
    throw std::out_of_range("the step of a random stream is too large; it must be below 2^56");
  const auto code = static_cast<std::uint32_t>(purpose);
  if (code > 0xff)
    throw std::out_of_range("the purpose of a random stream is too large; it must be below 256");
  counter_ = {{0, low_half(step), run, high_half(step) << 8 | code}};
}

void RandomStream::refill() {
  if (exhausted_) throw_exhausted();
  block_ = Generator{}(counter_, key_);
  used_ = 0;
  exhausted_ = ++counter_[0] == 0;
}

void RandomStream::discard(std::uint64_t words) {
  const std::uint64_t at_hand = (words_per_block - used_) / 2;
  const std::uint64_t to_come = exhausted_ ? 0 : (std::uint64_t{1} << 32) - counter_[0];
  if (words > at_hand + 2 * to_come) throw_exhausted();
  if (words > at_hand) {
    words -= at_hand;
    used_ = words_per_block;
    counter_[0] += low_half(words / 2);
    exhausted_ = words / 2 == to_come;
    words %= 2;
  }
  for (; words > 0; --words) (void)(*this)();
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * math::log(uniform()));
  const math::CosineAndSine turned = math::of_turn(uniform());
  spare_ = radius * turned.sine;
  has_spare_ = true;
  return radius * turned.cosine;
}

double RandomStream::log_gamma_variate(double shape) {
  // If X ~ Gamma(shape + 1) and U is uniform, X U^(1/shape) ~ Gamma(shape). In logarithms the power
  // cannot underflow.
  if (shape < 1) {
    const double boosted = log_gamma_variate(shape + 1);
    return boosted + math::log(uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double log_v = 3 * math::log(root);
    if (math::log(uniform()) < 0.5 * x * x + d * (1 - math::exp(log_v) + log_v)) {
      return math::log(d) + log_v;
    }
  }
}

std::uint64_t RandomStream::below(std::uint64_t n) {
  if (n == 0) throw std::invalid_argument("below() needs a positive argument");
  Wide product = Wide{(*this)()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    // The first 2^64 mod n values of the low half would bias the result, so such words are drawn
    // again.
    const std::uint64_t surplus = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < surplus) product = Wide{(*this)()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace popflow
