#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynamics/common/text_units.hpp"

namespace popflow::scb {

/// The token that stands for every unit without a token of its own. No unit of a text is called
/// so: words have no brackets, and characters are one character.
inline constexpr const char* other_token = "(other)";

/// How often one token follows another. Tokens are ordered by frequency, ties by code points;
/// `(other)`, where there is one, is the last.
struct BigramCounts {
  std::vector<std::string> labels;
  Eigen::MatrixXd count;  ///< (next, previous)
  std::size_t kinds = 0;  ///< different units, with a token of their own or without

  [[nodiscard]] bool has_other() const { return kinds > labels.size(); }
  /// Share of the bigrams that go on from `(other)`.
  [[nodiscard]] double share_of_other() const;
};

/// Counts the bigrams of a text. With more than `limit` different units the limit - 1 most
/// frequent have a token of their own and the rest shares `(other)`; without a limit all have one.
/// Throws InputError for a text that cannot be read or has fewer than 2 different units.
BigramCounts count_text(const std::string& path, TextUnit unit, std::optional<std::int64_t> limit);

/// Reads a table of counts: lines of from, to, count, separated by tabs; lines that start with #
/// and blank lines are skipped. A unit's frequency is the larger of its counts as `from` and as
/// `to`; a unit that is itself called (other) joins the rest. `limit` as in count_text(). Throws
/// InputError with the line's number.
BigramCounts read_counts(const std::string& path, std::optional<std::int64_t> limit);

/// P(next, previous): the counts with one added to each, columns normalised. So every entry is
/// positive and the chain irreducible.
Eigen::MatrixXd transition_matrix(const BigramCounts& counts);

}  // namespace popflow::scb
