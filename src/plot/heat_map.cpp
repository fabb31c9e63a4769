#include "plot/heat_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "plot/scale.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::size_t kMostRows = 24;
constexpr std::size_t kLargest = 2;  ///< columns per cell

/// A uniform ramp from dark to light (similar to viridis), as numbers of a terminal's 256 colours.
constexpr std::array<int, 11> kRamp = {54, 55, 61, 67, 66, 72, 71, 77, 113, 149, 226};

/// Index of the item, among n, to show at place i of `count`.
std::size_t sampled(std::size_t i, std::size_t count, std::size_t n) {
  if (count >= n) return i / (count / n);  // each item is shown equally often
  return count == 1 ? 0 : (i * (n - 1) + (count - 1) / 2) / (count - 1);
}

/// Maps values to colours and characters.
class Key {
 public:
  Key(const HeatMap& map, const Look& look)
      : map_(map), look_(look), scale_(scale_of(map.values, map.logarithmic)) {
    // Initials if they differ, otherwise letters in turn.
    for (const std::string& word : map.words) initials_ += word.empty() ? '?' : word[0];
    for (std::size_t i = 0; i < initials_.size(); ++i)
      if (initials_.find(initials_[i]) != i) initials_[i] = static_cast<char>('A' + i % 26);
  }
  [[nodiscard]] int colour(double value) const {
    if (!known(value)) return -1;
    if (!map_.words.empty()) return colour_of(static_cast<std::size_t>(value));
    return kRamp[level(value, kRamp.size())];
  }
  [[nodiscard]] std::string character(double value) const {
    if (!known(value)) return " ";
    if (!map_.words.empty()) return {initials_[static_cast<std::size_t>(value)]};
    static constexpr std::array<const char*, 5> kShades = {"·", "░", "▒", "▓", "█"};
    constexpr std::string_view kPlain = ".:-=+*#%@";
    if (look_.unicode) return kShades[level(value, kShades.size())];
    return {kPlain[level(value, kPlain.size())]};
  }
  /// Legend in one line.
  [[nodiscard]] std::string legend() const {
    std::vector<std::string> parts;
    if (map_.words.empty()) {
      double low = INFINITY, high = -INFINITY;
      for (const double value : map_.values) {
        if (!known(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
      if (low > high) return "no number anywhere";
      std::string ramp;
      constexpr int kSteps = 11;
      for (int i = 0; i < kSteps; ++i) {
        const double part = static_cast<double>(i) / (kSteps - 1);
        ramp += block(scale_.logarithmic() ? low * std::pow(high / low, part)
                                           : low + part * (high - low));
      }
      return text::rounded(low) + " " + ramp + " " + text::rounded(high) +
             (scale_.logarithmic() ? " (log)" : "");
    }
    for (std::size_t i = 0; i < map_.words.size(); ++i) {
      const auto count = std::count(map_.values.begin(), map_.values.end(), static_cast<double>(i));
      if (count > 0)
        parts.push_back(block(static_cast<double>(i)) + " " + map_.words[i] + " " +
                        text::rounded(100.0 * static_cast<double>(count) /
                                      static_cast<double>(map_.values.size())) +
                        "%");
    }
    return text::join(parts, "   ");
  }

 private:
  [[nodiscard]] bool known(double value) const {
    return std::isfinite(value) &&
           (map_.words.empty() ? std::isfinite(scale_.place(value))
                               : value >= 0 && value < static_cast<double>(map_.words.size()));
  }
  [[nodiscard]] std::size_t level(double value, std::size_t levels) const {
    const double place = scale_.place(value) * static_cast<double>(levels);
    return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(levels - 1)));
  }
  /// Values in colour are blocks. Words keep their initials, for readers who cannot see the
  /// colours.
  [[nodiscard]] std::string block(double value) const {
    const bool solid = look_.colour && look_.unicode && map_.words.empty();
    return coloured(solid ? "█" : character(value), colour(value), look_);
  }

  const HeatMap& map_;
  Look look_;
  Scale scale_;
  std::string initials_;
};

/// One character that shows two cells, one above the other.
std::string two_cells(int above, int below) {
  const auto code = [](int colour, int base) {
    return colour < 0 ? std::to_string(base + 9)
                      : std::to_string(base + 8) + ";5;" + std::to_string(colour);
  };
  return "\033[" + code(above, 30) + ";" + code(below, 40) + "m▀\033[0m";
}

/// Labels below their columns, as many as fit.
std::string across_labels(const HeatMap& map, std::size_t columns, std::size_t left) {
  std::string labels(left, ' ');
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string& label = map.across.labels[sampled(i, columns, map.across.labels.size())];
    const std::size_t begin = left + i;
    const bool first = labels.size() <= left;
    if ((!first && begin < labels.size() + 2) || begin + label.size() > left + columns + 4)
      continue;
    if (!first && i % std::max<std::size_t>(1, columns / 6) != 0) continue;
    labels += std::string(begin - std::min(begin, labels.size()), ' ') + label;
  }
  return labels + "\n" + std::string(left, ' ') + map.across.name + "\n";
}

}  // namespace

std::string drawn(const HeatMap& map, const Look& look) {
  const std::size_t down = map.down.labels.size(), across = map.across.labels.size();
  std::size_t left = map.down.name.size();
  for (const std::string& label : map.down.labels) left = std::max(left, label.size());
  left = std::min<std::size_t>(left, 20) + 1;
  const bool halves = look.unicode && look.colour;
  const std::size_t room = look.columns - std::min(look.columns - 20, left + 4);
  // A small map is enlarged.
  const std::size_t columns =
      across < room ? across * std::min<std::size_t>(room / across, kLargest) : room;
  const std::size_t most_rows = look.field_rows(kMostRows);
  // Characters are about twice as high as wide.
  const std::size_t most =
      std::min(most_rows * (halves ? 2 : 1), std::max<std::size_t>(columns, 8));
  const std::size_t places = std::min(down, halves ? most : std::min(most, most_rows));
  const std::size_t rows = halves ? (places + 1) / 2 : places;
  const Key key(map, look);
  const auto value = [&](std::size_t from_top, std::size_t column) {
    const std::size_t i = sampled(places - 1 - from_top, places, down);
    return map.values[i * across + sampled(column, columns, across)];
  };
  std::string text = in_a_line(map.title, look) + "\n" +
                     std::string(left - 1 - std::min(left - 1, map.down.name.size()), ' ') +
                     map.down.name + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t top = halves ? 2 * row : row;
    const bool labelled = row % 4 == 0 || row + 1 == rows;
    const std::string& full =
        map.down.labels[sampled(places - 1 - std::min(top, places - 1), places, down)];
    const std::string label = labelled ? full.substr(0, left - 1) : "";
    text += std::string(left - 1 - label.size(), ' ') + label + " ";
    for (std::size_t column = 0; column < columns; ++column) {
      if (!halves)
        text += key.character(value(top, column));
      else
        text += two_cells(key.colour(value(top, column)),
                          top + 1 < places ? key.colour(value(top + 1, column)) : -1);
    }
    text += "\n";
  }
  text += across_labels(map, columns, left);
  return text + std::string(left, ' ') + key.legend() + "\n";
}

}  // namespace popflow
