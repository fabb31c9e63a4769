#include "dynamics/scb/bigrams.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "file/text_input.hpp"
#include "popflow/error.hpp"
#include "popflow/memory.hpp"
#include "popflow/parameter.hpp"

namespace popflow::scb {
namespace {

/// Hash for lookups by string views, without constructing strings.
struct UnitHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view unit) const noexcept {
    return std::hash<std::string_view>{}(unit);
  }
};
template <class T>
using UnitMap = std::unordered_map<std::string, T, UnitHash, std::equal_to<>>;

/// Maps units to tokens.
class Vocabulary {
 public:
  /// Assigns tokens to the units in the order of their frequencies: at most `limit` tokens,
  /// including `(other)`.
  Vocabulary(const UnitMap<std::uint64_t>& frequency, std::optional<std::int64_t> limit)
      : kinds_(frequency.size()) {
    std::vector<std::pair<std::string, std::uint64_t>> order;
    order.reserve(frequency.size());
    for (const auto& unit : frequency) {
      if (unit.first != other_token) order.emplace_back(unit);
    }
    // Sorting UTF-8 by bytes sorts by code points.
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::size_t own = order.size();
    if (limit && frequency.size() > static_cast<std::size_t>(*limit)) {
      own = static_cast<std::size_t>(*limit) - 1;
    }
    labels_.reserve(own + 1);
    for (std::size_t i = 0; i < own; ++i) {
      labels_.push_back(label_of(order[i].first));
      token_.emplace(order[i].first, static_cast<Eigen::Index>(i));
    }
    if (frequency.size() > own) labels_.emplace_back(other_token);
  }

  [[nodiscard]] Eigen::Index token(std::string_view unit) const {
    const auto found = token_.find(unit);
    return found == token_.end() ? size() - 1 : found->second;
  }
  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(labels_.size()); }
  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

  [[nodiscard]] BigramCounts no_counts() const {
    const auto tokens = static_cast<double>(size());
    require_memory(tokens * tokens, "a table of " + std::to_string(size()) + " x " +
                                        std::to_string(size()) + " bigram counts");
    return {labels_, Eigen::MatrixXd::Zero(size(), size()), kinds_};
  }

 private:
  std::size_t kinds_;
  std::vector<std::string> labels_;
  UnitMap<Eigen::Index> token_;
};

struct Bigram {
  std::string from;
  std::string to;
  double count = 0;
};

/// Reads a table of counts line by line.
class Table {
 public:
  static constexpr std::streamsize kLongestLine = 64 * 1024;  // no table has labels this long

  explicit Table(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
      throw InputError("table of counts " + path + " does not exist");
    }
    if (std::filesystem::is_directory(status)) {
      throw InputError(path + " is a directory, not a table of counts");
    }
    TextInput file(path);
    if (!file) throw InputError("cannot read " + path + ": " + std::strerror(errno));
    std::vector<char> line(kLongestLine);
    while (file.getline(line.data(), kLongestLine)) {
      ++line_;
      const std::streamsize length = file.gcount() - (file.eof() ? 0 : 1);
      std::string_view text(line.data(), static_cast<std::size_t>(length));
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (text.empty() || text.starts_with('#')) continue;
      add(text);
    }
    if (file.gcount() == kLongestLine - 1) {
      ++line_;
      throw wrong("longer than 64 KiB; it must be from, to and count");
    }
    if (file.bad()) throw InputError("cannot read " + path + ": " + std::strerror(errno));
    if (total_ == 0) throw InputError(path + " holds no counts above 0");
  }

  [[nodiscard]] const std::vector<Bigram>& bigrams() const { return bigrams_; }

 private:
  [[nodiscard]] InputError wrong(const std::string& what) const {
    return InputError(path_ + ", line " + std::to_string(line_) + ": " + what);
  }

  void add(std::string_view text) {
    if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
      throw wrong("not valid UTF-8 at its byte " + std::to_string(at) + " (counted from 0)");
    }
    const std::size_t first = text.find('\t');
    const std::size_t second = first == text.npos ? text.npos : text.find('\t', first + 1);
    if (second == text.npos || text.find('\t', second + 1) != text.npos) {
      throw wrong("must be from, to and count, separated by tabs");
    }
    Bigram bigram{label_of(text.substr(0, first)),
                  label_of(text.substr(first + 1, second - first - 1)),
                  parse_count(text.substr(second + 1))};
    if (bigram.from.empty() || bigram.to.empty()) throw wrong("a unit is empty");
    const auto [seen, is_new] = line_of_.try_emplace({bigram.from, bigram.to}, line_);
    if (!is_new) {
      throw wrong(bigram.from + " to " + bigram.to + " was counted on line " +
                  std::to_string(seen->second) + " already");
    }
    total_ += bigram.count;
    bigrams_.push_back(std::move(bigram));
  }

  [[nodiscard]] double parse_count(std::string_view text) const {
    constexpr auto largest = static_cast<std::uint64_t>(largest_whole);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc{} || end != text.data() + text.size() || count > largest) {
      throw wrong("count " + std::string(text) + " is not a whole number from 0 to " +
                  std::to_string(largest));
    }
    return static_cast<double>(count);
  }

  std::string path_;
  std::uint64_t line_ = 0;
  double total_ = 0;
  std::vector<Bigram> bigrams_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> line_of_;
};

UnitMap<std::uint64_t> frequencies(const std::vector<Bigram>& bigrams) {
  // In a text, the counts of a unit as `from` and as `to` agree, except for the first and the last
  // unit.
  struct Sides {
    double from = 0;
    double to = 0;
  };
  UnitMap<Sides> sides;
  for (const Bigram& bigram : bigrams) {
    sides[bigram.from].from += bigram.count;
    sides[bigram.to].to += bigram.count;
  }
  UnitMap<std::uint64_t> frequency;
  for (const auto& [unit, side] : sides) {
    frequency[unit] = static_cast<std::uint64_t>(std::max(side.from, side.to));
  }
  return frequency;
}

void require_two_units(std::size_t units, const std::string& path) {
  if (units < 2) throw InputError(path + " holds only one kind of unit; there must be at least 2");
}

}  // namespace

BigramCounts count_text(const std::string& path, TextUnit unit, std::optional<std::int64_t> limit) {
  UnitMap<std::uint64_t> frequency;
  std::uint64_t units = 0;
  for_each_unit(path, unit, [&](std::string_view text) {
    ++units;
    const auto found = frequency.find(text);
    if (found == frequency.end()) {
      frequency.emplace(text, 1);
    } else {
      ++found->second;
    }
  });
  if (units < 2) {
    throw InputError(path + " holds " + (units == 0 ? "no " : "only one ") +
                     (unit == TextUnit::word ? "word" : "character") +
                     "; a bigram takes at least 2");
  }
  require_two_units(frequency.size(), path);

  const Vocabulary vocabulary(frequency, limit);
  BigramCounts counts = vocabulary.no_counts();
  std::optional<Eigen::Index> previous;
  for_each_unit(path, unit, [&](std::string_view text) {
    const Eigen::Index token = vocabulary.token(text);
    if (previous) counts.count(token, *previous) += 1;
    previous = token;
  });
  return counts;
}

BigramCounts read_counts(const std::string& path, std::optional<std::int64_t> limit) {
  const Table table(path);
  const UnitMap<std::uint64_t> frequency = frequencies(table.bigrams());
  require_two_units(frequency.size(), path);
  const Vocabulary vocabulary(frequency, limit);
  BigramCounts counts = vocabulary.no_counts();
  for (const Bigram& bigram : table.bigrams()) {
    counts.count(vocabulary.token(bigram.to), vocabulary.token(bigram.from)) += bigram.count;
  }
  return counts;
}

double BigramCounts::share_of_other() const {
  return has_other() ? count.rightCols(1).sum() / count.sum() : 0;
}

Eigen::MatrixXd transition_matrix(const BigramCounts& counts) {
  Eigen::MatrixXd P = counts.count.array() + 1;
  for (auto column : P.colwise()) column /= column.sum();
  return P;
}

}  // namespace popflow::scb
