#include "dynamics/markov/sampler.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "random/bits.hpp"

namespace popflow::markov {

namespace {

constexpr int kBlock = 64;
/// Number of chains per task.
constexpr std::size_t kChains = 64;

void add_to(TransitionSums& sum, double weight, const TransitionSums& more) {
  sum.visits0 += weight * more.visits0;
  sum.visits1 += weight * more.visits1;
  sum.excess0 += weight * more.excess0;
  sum.excess1 += weight * more.excess1;
}

/// Words of 64 bits, two of 32 each, low half first.
struct GivenWords {
  const std::uint32_t* next;
  std::uint64_t operator()() {
    const std::uint64_t word = std::uint64_t{next[1]} << 32 | next[0];
    next += 2;
    return word;
  }
};

/// First words of a stream, drawn many at a time; identical to those of RandomStream.
class StreamWords {
 public:
  /// `room` must hold kChains blocks.
  StreamWords(const PhiloxKey& key, std::int64_t words, std::uint32_t* room)
      : key_(key), left_(static_cast<std::size_t>(words + 1) / 2), room_(room) {}
  std::uint64_t operator()() {
    if (given_.next == end_) refill();
    return given_();
  }

 private:
  void refill() {
    const std::size_t blocks = std::min(left_, kChains);
    stream_words(key_, first_, blocks, room_);
    first_ += blocks;
    left_ -= blocks;
    given_.next = room_;
    end_ = room_ + 4 * blocks;
  }

  PhiloxKey key_;
  std::size_t left_;  ///< number of blocks left
  std::uint64_t first_ = 0;
  std::uint32_t* room_;
  GivenWords given_{nullptr};
  const std::uint32_t* end_ = nullptr;
};

}  // namespace

TransitionSampler::Block TransitionSampler::make_block(const Chain& chain, int first,
                                                       int transitions) {
  // Probability of (changes, ones) so far. The current symbol is the first symbol, changed
  // `changes` times.
  const auto side = static_cast<std::size_t>(transitions) + 1;
  std::vector<double> now(side * side, 0.0);
  std::vector<double> next(side * side);
  now[0] = 1;
  for (int step = 0; step < transitions; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t changes = 0; changes <= static_cast<std::size_t>(step); ++changes) {
      const bool one = (changes % 2 == 1) != (first == 1);
      const double change = one ? chain.q : chain.p;
      for (std::size_t ones = 0; ones <= static_cast<std::size_t>(step); ++ones) {
        const double probability = now[changes * side + ones];
        const std::size_t ones_then = ones + (one ? 1 : 0);
        next[changes * side + ones_then] += (1 - change) * probability;
        next[(changes + 1) * side + ones_then] += change * probability;
      }
    }
    now.swap(next);
  }
  std::vector<Block::Numbers> numbers;
  std::vector<double> probabilities;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!(now[i] > 0)) continue;
    numbers.push_back({static_cast<std::uint8_t>(i / side), static_cast<std::uint8_t>(i % side)});
    probabilities.push_back(now[i]);
  }
  return {std::move(numbers), DiscreteDistribution(probabilities)};
}

TransitionSampler::Blocks::Blocks(const Chain& chain, std::int64_t transitions) {
  const int left = static_cast<int>(transitions % kBlock);
  for (const int first : {0, 1}) {
    if (transitions >= kBlock) whole.push_back(make_block(chain, first, kBlock));
    if (left > 0) rest.push_back(make_block(chain, first, left));
  }
  if (transitions > kBlock) return;
  for (const std::size_t first : {0U, 1U}) {
    for (const Block::Numbers numbers : only()[first].numbers) {
      TransitionNumbers all;
      add(all, first, numbers);
      all.from0 = transitions - all.from1;
      alone[first].push_back(sums_of_chain(chain, all));
    }
  }
}

TransitionSampler::TransitionSampler(const Chain& chain, std::int64_t symbols, Workers& workers)
    : chain_(chain), transitions_(symbols - 1), workers_(workers) {}

const TransitionSampler::Blocks& TransitionSampler::blocks() const {
  std::call_once(made_, [this] {
    struct Known {
      double p, q;
      std::int64_t transitions;
      std::shared_ptr<const Blocks> blocks;
    };
    constexpr std::size_t kKept = 4;
    static std::mutex mutex;
    static std::deque<Known> known;  // distributions of the last chains
    const std::lock_guard lock(mutex);
    for (const Known& one : known)
      if (one.p == chain_.p && one.q == chain_.q && one.transitions == transitions_)
        blocks_ = one.blocks;
    if (blocks_) return;
    blocks_ = std::make_shared<const Blocks>(chain_, transitions_);
    known.push_back({chain_.p, chain_.q, transitions_, blocks_});
    if (known.size() > kKept) known.pop_front();
  });
  return *blocks_;
}

TransitionNumbers TransitionSampler::draw(RandomStream random) const {
  return draw(blocks(), random);
}

void TransitionSampler::add(TransitionNumbers& all, std::size_t symbol, Block::Numbers drawn) {
  const std::int64_t back = drawn.changes / 2;
  const std::int64_t away = drawn.changes - back;
  all.from1 += drawn.ones;
  all.up += symbol == 0 ? away : back;
  all.down += symbol == 0 ? back : away;
}

/// `words`: returns the next 64 bits of the chain's stream.
template <class Words>
TransitionNumbers TransitionSampler::draw(const Blocks& blocks, Words& words) const {
  TransitionNumbers all;
  std::size_t symbol = uniform_of(words()) < chain_.pi1 ? 1 : 0;
  const auto add_one = [&](const std::vector<Block>& with) {
    const Block& block = with[symbol];
    const Block::Numbers drawn = block.numbers[block.distribution(words())];
    add(all, symbol, drawn);
    symbol ^= drawn.changes & 1U;
  };
  for (std::int64_t block = transitions_ / kBlock; block > 0; --block) add_one(blocks.whole);
  if (!blocks.rest.empty()) add_one(blocks.rest);
  all.from0 = transitions_ - all.from1;
  return all;
}

TransitionSums TransitionSampler::sums_of_chain(const Chain& chain,
                                                const TransitionNumbers& drawn) {
  const auto from0 = static_cast<double>(drawn.from0);
  const auto from1 = static_cast<double>(drawn.from1);
  return {from0, from1, static_cast<double>(drawn.up) - chain.p * from0,
          chain.q * from1 - static_cast<double>(drawn.down)};
}

TransitionSums TransitionSampler::sum_of(const SampleKey& key, std::span<const double> weights,
                                         std::size_t begin, std::size_t end) const {
  TransitionSums sum;
  const Blocks& of_chain = blocks();
  const std::int64_t draws = (transitions_ + kBlock - 1) / kBlock;
  std::uint32_t words[4 * kChains];
  double shares[kChains];
  const auto length = static_cast<double>(transitions_);
  for (std::size_t i = begin; i < end; ++i) shares[i - begin] = weights[i] / length;
  if (draws == 1) {  // the first block of a chain's stream suffices
    first_words({key.seed, key.purpose, key.run, key.first + begin}, end - begin, words);
    const Block* const blocks = of_chain.only().data();
    for (std::size_t i = 0; i < end - begin; ++i) {
      GivenWords given{words + 4 * i};
      const std::size_t symbol = uniform_of(given()) < chain_.pi1 ? 1 : 0;
      add_to(sum, shares[i], of_chain.alone[symbol][blocks[symbol].distribution(given())]);
    }
    return sum;
  }
  for (std::size_t i = begin; i < end; ++i) {
    StreamWords stream({key.seed, key.purpose, key.run, key.first + i}, 1 + draws, words);
    add_to(sum, shares[i - begin], sums_of_chain(chain_, draw(of_chain, stream)));
  }
  return sum;
}

TransitionSums TransitionSampler::sum(const SampleKey& key, std::span<const double> weights) const {
  const std::size_t tasks = (weights.size() + kChains - 1) / kChains;
  if (tasks <= 1) return sum_of(key, weights, 0, weights.size());
  std::vector<TransitionSums> parts(tasks);
  // A draw costs as much as about twenty elements of a sum.
  const auto draws = static_cast<std::size_t>(transitions_ / kBlock + 2);
  workers_.run(tasks, 20 * draws * weights.size(), [&](std::size_t task) {
    const std::size_t begin = task * kChains;
    parts[task] = sum_of(key, weights, begin, std::min(weights.size(), begin + kChains));
  });
  TransitionSums sum;
  for (const TransitionSums& part : parts) add_to(sum, 1, part);
  return sum;
}

}  // namespace popflow::markov
