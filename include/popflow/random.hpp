#pragma once

#include <Random123/philox.h>

#include <cstdint>
#include <limits>

namespace popflow {

/// Purpose of a stream of random numbers. Streams of different purposes never share a number.
enum class Purpose : std::uint32_t {
  problem = 1,     ///< matrices of the problem
  start = 2,       ///< random initial values
  samples = 3,     ///< minibatches of sampled SGD
  noise = 4,       ///< the Gaussian noise of the SDE
  bootstrap = 5,   ///< samples from which batch noise is built
  statistics = 6,  ///< permutations and resampling in comparisons
  test = 7,
  check = 8,     ///< samples with which a noise model is compared
  variance = 9,  ///< samples from which variances of gradients are estimated
  squares = 10,  ///< the noise of squared gradients
  passes = 11,   ///< orders in which training visits a finite set of samples
};

/// A stream of random bits that depends only on (seed, purpose, run, step), not on threads, the
/// number of runs or a restart. Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011) in counter mode. A
/// UniformRandomBitGenerator of 64-bit words, for Boost.Random's distributions.
///
/// Layout: the key is the seed, low half first. The counter has four words: the number of the block
/// within the stream, the low half of the step, the run, and a word with the purpose in its lowest
/// 8 bits and bits 32 to 55 of the step above. No two streams share a block.
class RandomStream {
 public:
  using result_type = std::uint64_t;

  /// `step` must be below 2^56 (std::out_of_range if not).
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t run = 0, std::uint64_t step = 0);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// Returns 64 random bits. A stream holds 2^33 words; std::length_error beyond.
  result_type operator()() {
    if (used_ == words_per_block) refill();
    const result_type low = block_[used_];
    const result_type high = block_[used_ + 1];
    used_ += 2;
    return high << 32 | low;
  }

  /// Skips this many words in constant time, so that several consumers can each draw their own part
  /// of a stream. Throws std::length_error if the stream holds fewer.
  void discard(std::uint64_t words);

  /// Uniform on the open interval (0,1): one of the 2^52 odd multiples of 2^-53, so that neither
  /// end can occur, and x and 1-x are equally likely.
  double uniform() { return (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52; }
  /// Standard normal (Box and Muller 1958; the second of each pair is kept for the next call).
  double normal();
  /// Logarithm of a Gamma(shape, 1) variate, shape > 0 (Marsaglia and Tsang 2000); correct for
  /// small shapes, too, where the variate itself underflows.
  double log_gamma_variate(double shape);
  /// A whole number uniform on [0, n), without bias (Lemire 2019). Throws std::invalid_argument for
  /// n = 0.
  std::uint64_t below(std::uint64_t n);

 private:
  using Generator = r123::Philox4x32;
  static constexpr unsigned words_per_block = 4;

  void refill();

  Generator::key_type key_;
  Generator::ctr_type counter_;  ///< counter of the next block
  Generator::ctr_type block_{};
  unsigned used_ = words_per_block;  ///< number of words of block_ already used
  bool exhausted_ = false;
  bool has_spare_ = false;
  double spare_ = 0;  ///< second normal of the last pair
};

/// Step of training to which samples belong. The defaults stand for samples outside of a training.
struct TrainingStep {
  std::uint64_t step = 0;    ///< steps taken before
  double learning_rate = 0;  ///< base rate, without its schedule
  std::int64_t batch_size = 1;
};

/// Streams of a minibatch's samples: sample i uses the stream number first + i, on any thread.
struct SampleKey {
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::samples;
  std::uint32_t run = 0;
  std::uint64_t first = 0;
  TrainingStep training = {};
  [[nodiscard]] RandomStream stream(std::uint64_t i) const {
    return {seed, purpose, run, first + i};
  }
};

}  // namespace popflow
