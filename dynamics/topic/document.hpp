#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "dynamics/topic/data.hpp"
#include "popflow/random.hpp"

namespace popflow::topic {

/// Position of a sampled document: its word, the symbol that it shows (0: [MASK]), and whether it
/// is scored.
struct Position {
  std::uint32_t word = 0;
  std::uint32_t shown = 0;
  bool selected = false;
};

/// Draws documents from the generative model: tau of the T topics, all sets equally likely; words
/// i.i.d. uniform over the topics' words; each word selected with p_m, and a selected word kept,
/// replaced or masked.
class DocumentGenerator {
 public:
  DocumentGenerator(const Data& data, std::int64_t length)
      : data_(data),
        length_(length),
        selected_(static_cast<std::uint64_t>(data.mask_prob * 0x1p32)) {}

  /// Calls visit(Position) for every position of a document. `words` is scratch memory. One 64-bit
  /// number decides word and selection, so probabilities are accurate to tau v 2^-32.
  template <class Visit>
  void draw(RandomStream& random, std::vector<std::uint32_t>& words, Visit&& visit) const {
    draw_words(random, words);
    const std::uint64_t inside = words.size();
    const auto vocabulary = static_cast<std::uint64_t>(data_.topics * data_.words_per_topic);
    for (std::int64_t i = 0; i < length_; ++i) {
      const std::uint64_t both = random();
      const std::uint32_t word = words[((both & 0xffffffff) * inside) >> 32];
      Position position{word, word, (both >> 32) < selected_};
      if (position.selected) {
        const double what = random.uniform();
        if (what >= 1 - data_.hide_prob())
          position.shown = 0;
        else if (what >= data_.keep_prob)
          position.shown = 1 + static_cast<std::uint32_t>(random.below(vocabulary));
      }
      visit(position);
    }
  }

 private:
  /// Draws the topics and lists their words.
  void draw_words(RandomStream& random, std::vector<std::uint32_t>& words) const {
    // The first steps of a shuffle (Fisher and Yates), in the memory that the words use afterwards.
    const auto T = static_cast<std::size_t>(data_.topics);
    const auto tau = static_cast<std::size_t>(data_.topics_per_document);
    const auto v = static_cast<std::uint32_t>(data_.words_per_topic);
    words.resize(T);
    std::iota(words.begin(), words.end(), 0U);
    for (std::size_t i = 0; i < tau; ++i) std::swap(words[i], words[i + random.below(T - i)]);
    words.resize(tau * v);
    // Starts with the last topic, so that no topic is overwritten before it is read.
    for (std::size_t i = tau; i-- > 0;) {
      const std::uint32_t topic = words[i];
      for (std::uint32_t k = v; k-- > 0;) words[i * v + k] = 1 + topic * v + k;
    }
  }

  Data data_;
  std::int64_t length_;
  std::uint64_t selected_;  ///< p_m 2^32
};

}  // namespace popflow::topic
