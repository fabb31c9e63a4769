#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynamics/common/text_units.hpp"

namespace popflow::scb {

/// Token for all units without their own token. No unit of a text has this name: words contain no
/// brackets, and characters are single characters.
inline constexpr const char* other_token = "(other)";

/// Bigram counts. Tokens are ordered by frequency, ties by code points; `(other)`, if present, is
/// the last.
struct BigramCounts {
  std::vector<std::string> labels;
  Eigen::MatrixXd count;  ///< (next, previous)
  std::size_t kinds = 0;  ///< number of different units, with or without their own token

  [[nodiscard]] bool has_other() const { return kinds > labels.size(); }
  /// Fraction of all bigrams whose first unit is `(other)`.
  [[nodiscard]] double share_of_other() const;
};

/// Counts the bigrams of a text. With more than `limit` different units, the limit - 1 most
/// frequent units get their own tokens and all others share `(other)`. Without a limit each unit
/// gets its own token. Throws InputError for a text that cannot be read or has fewer than 2
/// different units.
BigramCounts count_text(const std::string& path, TextUnit unit, std::optional<std::int64_t> limit);

/// Reads a table of counts: lines of from, to, count, separated by tabs. Lines that start with #
/// and blank lines are skipped. A unit's frequency is the larger of its counts as `from` and as
/// `to`; a unit that is itself called (other) joins the rest. `limit` as in count_text(). Throws
/// InputError with the line's number.
BigramCounts read_counts(const std::string& path, std::optional<std::int64_t> limit);

/// P(next, previous): the counts plus one, with normalised columns. Every entry is positive, so the
/// chain is irreducible.
Eigen::MatrixXd transition_matrix(const BigramCounts& counts);

}  // namespace popflow::scb
