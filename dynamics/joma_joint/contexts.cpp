#include "dynamics/joma_joint/contexts.hpp"

#include <algorithm>
#include <boost/random/binomial_distribution.hpp>
#include <utility>

#include "random/bits.hpp"

namespace popflow::joma_joint {
namespace {

using Eigen::Index;

// Number of contexts per task.
constexpr std::size_t kContextsOfTask = 8;

// Number of blocks of random words drawn at a time.
constexpr std::uint64_t kBlocks = 512;

// Cost of a binomial variate, in units of the cost of drawing a token.
constexpr std::int64_t kBinomial = 16;

// Number of words for which drawing on all threads pays off, and maximum number of batches drawn
// ahead.
constexpr std::size_t kWorthSharing = std::size_t{1} << 16;
constexpr std::size_t kMostAhead = 16;

/// Cost per number of operations on single columns, relative to products of whole matrices.
constexpr std::int64_t kDensity = 2;

/// Number of counters per token, used in turn, because two successive increments of the same
/// counter stall.
constexpr std::size_t kCounters = 4;

bool long_contexts(std::int64_t length, Index tokens) { return length / kBinomial > tokens; }

std::vector<DiscreteDistribution> token_tables(const Problem& problem, std::int64_t length) {
  std::vector<DiscreteDistribution> tables;
  if (long_contexts(length, problem.tokens())) return tables;
  for (Index c = 0; c < problem.classes(); ++c)
    tables.emplace_back(std::span(problem.X.col(c).data(), to_size(problem.tokens())));
  return tables;
}

Eigen::MatrixXd conditional_shares(const Problem& problem, std::int64_t length) {
  if (!long_contexts(length, problem.tokens())) return {};
  Eigen::MatrixXd conditional = problem.X;
  for (auto column : conditional.colwise()) {
    double rest = 0;
    for (Index l = column.size() - 1; l >= 0; --l) {
      const double share = column[l];
      rest += share;
      column[l] = share > 0 ? share / rest : 0;
    }
  }
  return conditional;
}

bool same_stream(const SampleKey& a, const SampleKey& b) {
  return a.seed == b.seed && a.purpose == b.purpose && a.run == b.run;
}

}  // namespace

ContextLaw::ContextLaw(const Problem& problem, std::int64_t length)
    : length_(length),
      M_(problem.tokens()),
      classes_(std::span(problem.p.data(), to_size(problem.p.size()))),
      tokens_(token_tables(problem, length)),
      conditional_(conditional_shares(problem, length)) {}

std::size_t ContextLaw::most_distinct() const { return to_size(std::min<Index>(length_, M_)); }

std::size_t ContextLaw::draws() const {
  return static_cast<std::size_t>(std::min(length_, kBinomial * M_)) + 1;
}

bool ContextLaw::dense(Index tokens, std::int64_t length) { return tokens / kDensity <= length; }

bool ContextLaw::counted() const { return static_cast<Index>(kCounters) * M_ <= length_; }

void ContextLaw::count(std::size_t number, Draft& draft) const {
  const std::size_t tokens = to_size(M_);
  if (draft.counts.empty()) draft.counts.resize(kCounters * tokens, 0);
  std::uint32_t* const counts = draft.counts.data();
  const std::uint32_t* const drawn = draft.drawn.data();
  std::size_t n = 0;
  for (; n + kCounters <= number; n += kCounters)
    for (std::size_t i = 0; i < kCounters; ++i) ++counts[i * tokens + drawn[n + i]];
  for (; n < number; ++n) ++counts[drawn[n]];
}

void ContextLaw::sum_counts(Draft& draft) const {
  const std::size_t tokens = to_size(M_);
  std::size_t distinct = 0;
  for (std::size_t l = 0; l < tokens; ++l) {
    std::uint32_t times = 0;
    for (std::size_t i = 0; i < kCounters; ++i)
      times += std::exchange(draft.counts[i * tokens + l], 0U);
    draft.times[l] = times;
    draft.present[distinct] = static_cast<std::uint32_t>(l);  // kept only if present
    distinct += times > 0;
  }
  draft.present.resize(distinct);
}

void ContextLaw::draw_tokens(const SampleKey& key, std::size_t i, Draft& draft) const {
  // Draws the stream's words many at once: the first is for the class, each of the others for a
  // token.
  const PhiloxKey stream(key.seed, key.purpose, key.run, key.first + i);
  const std::uint64_t blocks = static_cast<std::uint64_t>(length_) / 2 + 1;
  const auto room = static_cast<std::size_t>(std::min(blocks, kBlocks));
  if (draft.words.size() < 4 * room) draft.words.resize(4 * room);
  draft.present.resize(most_distinct() + 1);
  draft.drawn.resize(2 * room);
  const DiscreteDistribution* tokens = nullptr;
  std::size_t distinct = 0;
  auto left = static_cast<std::uint64_t>(length_);
  for (std::uint64_t first = 0; first < blocks; first += kBlocks) {
    const auto here = static_cast<std::size_t>(std::min(blocks - first, kBlocks));
    stream_words(stream, first, here, draft.words.data());
    const std::uint32_t* words = draft.words.data();
    std::size_t number = 2 * here;
    if (first == 0) {
      draft.of_class = classes_(std::uint64_t{words[1]} << 32 | words[0]);
      tokens = &tokens_[draft.of_class];
      words += 2;
      --number;
    }
    number = static_cast<std::size_t>(std::min<std::uint64_t>(number, left));
    left -= number;
    tokens->draw(number, words, draft.drawn.data());
    if (counted()) {
      count(number, draft);
      continue;
    }
    for (std::size_t n = 0; n < number; ++n) {
      const std::uint32_t token = draft.drawn[n];
      draft.present[distinct] = token;  // kept only if new
      distinct += draft.times[token]++ == 0;
    }
  }
  if (counted()) return sum_counts(draft);
  draft.present.resize(distinct);
}

void ContextLaw::draw(const SampleKey& key, std::size_t i, Draft& draft) const {
  if (draft.times.empty()) draft.times.resize(to_size(M_), 0);
  if (!tokens_.empty()) return draw_tokens(key, i, draft);
  // Draws the counts of the tokens one after another, each conditional on the previous counts.
  RandomStream random = key.stream(i);
  draft.present.clear();
  draft.of_class = classes_(random());
  std::int64_t left = length_;
  for (Index l = 0; l < M_ && left > 0; ++l) {
    const double share = conditional_(l, draft.of_class);
    if (!(share > 0)) continue;
    const std::int64_t times =
        share < 1 ? boost::random::binomial_distribution<std::int64_t>(left, share)(random) : left;
    if (times == 0) continue;
    left -= times;
    draft.times[to_size(l)] = times;
    draft.present.push_back(static_cast<std::uint32_t>(l));
  }
}

bool Contexts::hold(const SampleKey& key, std::size_t number) const {
  return same_stream(key, key_) && key.first >= key_.first &&
         key.first - key_.first + number <= drawn_;
}

bool Contexts::precede(const SampleKey& key) const {
  return drawn_ > 0 && same_stream(key, key_) && key.first == key_.first + begin_ + number_;
}

bool Contexts::move_to(const SampleKey& key, std::size_t number) {
  const bool here = hold(key, number);
  if (here && number == number_ && key.first == key_.first + begin_) return false;
  if (!here) {
    // A caller that steps from batch to batch is likely to continue, so batches are drawn ahead.
    std::size_t batches = 1;
    if (precede(key) && number == number_)
      batches = std::clamp<std::size_t>(kWorthSharing / (number * law_.draws()), 1, kMostAhead);
    draw(key, batches * number);
  }
  begin_ = key.first - key_.first;
  number_ = number;
  return true;
}

void Contexts::draw(const SampleKey& key, std::size_t number) {
  key_ = key;
  drawn_ = number;
  const std::size_t room = law_.most_distinct();
  classes_.resize(number);
  distinct_.resize(number);
  tokens_.resize(number * room);
  shares_.resize(number * room);
  workers_.run((number + kContextsOfTask - 1) / kContextsOfTask, number * law_.draws(),
               [&](std::size_t task) {
                 const auto draft = drafts_.borrow();
                 const std::size_t end = std::min(number, (task + 1) * kContextsOfTask);
                 for (std::size_t i = task * kContextsOfTask; i < end; ++i) {
                   law_.draw(key, i, *draft);
                   classes_[i] = draft->of_class;
                   distinct_[i] = draft->present.size();
                   for (std::size_t j = 0; j < distinct_[i]; ++j) {
                     const std::uint32_t token = draft->present[j];
                     tokens_[i * room + j] = token;
                     shares_[i * room + j] = static_cast<double>(draft->times[token]) /
                                             static_cast<double>(law_.length());
                     draft->times[token] = 0;
                   }
                 }
               });
}

Contexts::Sample Contexts::sample(std::size_t i) const {
  const std::size_t place = begin_ + i;
  const std::size_t first = place * law_.most_distinct();
  return {classes_[place],
          {tokens_.data() + first, distinct_[place]},
          {shares_.data() + first, distinct_[place]}};
}

}  // namespace popflow::joma_joint
