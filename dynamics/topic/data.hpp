#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace popflow::topic {

/// The data: T disjoint topics of v words, documents with tau of them, and the masking.
struct Data {
  std::int64_t topics = 10;              ///< T
  std::int64_t words_per_topic = 10;     ///< v
  std::int64_t topics_per_document = 4;  ///< tau
  double mask_prob = 0.15;               ///< p_m
  double keep_prob = 0.1;                ///< p_c
  double random_prob = 0.1;              ///< p_r

  // Counts as numbers, since products of them exceed whole numbers.
  [[nodiscard]] double T() const { return static_cast<double>(topics); }
  [[nodiscard]] double v() const { return static_cast<double>(words_per_topic); }
  [[nodiscard]] double tau() const { return static_cast<double>(topics_per_document); }
  [[nodiscard]] double n() const { return T() * v(); }
  /// Words of a document's topics.
  [[nodiscard]] double inside() const { return tau() * v(); }
  [[nodiscard]] double outside() const { return (T() - tau()) * v(); }
  /// Share of the selected positions that show [MASK].
  [[nodiscard]] double hide_prob() const;

  // How often a document's input shows [MASK], one word of its topics, one other word.
  [[nodiscard]] double z_mask() const { return mask_prob * hide_prob(); }
  [[nodiscard]] double z_inside() const;
  [[nodiscard]] double z_outside() const { return mask_prob * random_prob / n(); }
};

/// Entries of W_V that the symmetry makes equal, and of the logit matrix, in the order in which
/// states and files hold them.
enum ValueEntry : std::uint8_t { same_word, same_topic, other_topic, mask_column, value_entries };
enum LogitEntry : std::uint8_t {
  logit_same_word,
  logit_same_topic,
  logit_other_topic,
  logit_mask_key,  ///< key [MASK], query a word
  logit_word_key,  ///< key a word, query [MASK]
  logit_mask_mask,
  logit_entries
};

/// How many entries of the full matrix each represents (0 where a size leaves none).
std::array<double, value_entries> value_multiplicities(const Data& data);
std::array<double, logit_entries> logit_multiplicities(const Data& data);

/// Words that a query cannot distinguish.
struct WordClass {
  double count = 0;      ///< words in it
  double frequency = 0;  ///< of each in the document's input
  double target = 0;     ///< probability that the true word is in it
  double each = 0;       ///< the same of each of them; 0 where there are none
};

/// A kind of selected position: what it shows, and what else the document holds.
struct Query {
  double probability = 0;  ///< among the selected positions
  bool masked = false;
  /// The query itself, the rest of its topic, and two of the other words; the first two are empty
  /// where it is [MASK].
  std::array<WordClass, 4> classes;
  double floor = 0;  ///< the loss with the best outputs that know the kind alone
};

/// The kinds of query that occur: [MASK]; a word of the document's topics (the true word, or a
/// random one that happens to be there); a random word outside of them. No two documents differ in
/// more, so that the population loss is a sum over these.
struct Queries {
  explicit Queries(const Data& data);
  std::vector<Query> all;
  std::array<bool, logit_entries> occurs{};  ///< does the entry weigh a key that occurs?
  // 1 over the multiplicities; 0 where a size leaves no entry.
  std::array<double, value_entries> per_value{};
  std::array<double, logit_entries> per_logit{};
};

}  // namespace popflow::topic
