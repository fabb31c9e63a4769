#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace popflow::topic {

/// Parameters of the data: T disjoint topics of v words, documents with tau of these topics, and
/// the masking.
struct Data {
  std::int64_t topics = 10;              ///< T
  std::int64_t words_per_topic = 10;     ///< v
  std::int64_t topics_per_document = 4;  ///< tau
  double mask_prob = 0.15;               ///< p_m
  double keep_prob = 0.1;                ///< p_c
  double random_prob = 0.1;              ///< p_r

  // Counts as doubles, because products of them overflow integers.
  [[nodiscard]] double T() const { return static_cast<double>(topics); }
  [[nodiscard]] double v() const { return static_cast<double>(words_per_topic); }
  [[nodiscard]] double tau() const { return static_cast<double>(topics_per_document); }
  [[nodiscard]] double n() const { return T() * v(); }
  /// Number of words in a document's topics.
  [[nodiscard]] double inside() const { return tau() * v(); }
  [[nodiscard]] double outside() const { return (T() - tau()) * v(); }
  /// Fraction of the selected positions that show [MASK].
  [[nodiscard]] double hide_prob() const;

  // Frequencies in a document's input of [MASK], of each word of its topics, and of each other
  // word.
  [[nodiscard]] double z_mask() const { return mask_prob * hide_prob(); }
  [[nodiscard]] double z_inside() const;
  [[nodiscard]] double z_outside() const { return mask_prob * random_prob / n(); }
};

/// Entries of W_V that the symmetry makes equal, and those of the logit matrix, in the order of
/// states and files.
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

/// Number of entries of the full matrix that each entry represents (0 if a size leaves none).
std::array<double, value_entries> value_multiplicities(const Data& data);
std::array<double, logit_entries> logit_multiplicities(const Data& data);

/// Class of words that a query cannot distinguish.
struct WordClass {
  double count = 0;      ///< number of words
  double frequency = 0;  ///< frequency of each in the document's input
  double target = 0;     ///< probability that the true word is in the class
  double each = 0;       ///< probability of each word of the class; 0 if the class is empty
};

/// A kind of selected position: the symbol that it shows, and the document's other contents.
struct Query {
  double probability = 0;  ///< fraction of the selected positions
  bool masked = false;
  /// The query itself, the rest of its topic, and two classes of other words. The first two are
  /// empty for [MASK].
  std::array<WordClass, 4> classes;
  double floor = 0;  ///< loss with the best outputs that depend only on the kind
};

/// Kinds of query: [MASK]; a word of the document's topics (the true word, or a random one that
/// belongs to them); a random word outside them. The population loss is a sum over these kinds,
/// because documents differ in nothing else.
struct Queries {
  explicit Queries(const Data& data);
  std::vector<Query> all;
  std::array<bool, logit_entries> occurs{};  ///< whether the entry weights a key that occurs
  // 1 over the multiplicities; 0 if a size leaves no entry.
  std::array<double, value_entries> per_value{};
  std::array<double, logit_entries> per_logit{};
};

}  // namespace popflow::topic
