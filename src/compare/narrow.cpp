#include "compare/narrow.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kGap = 2;         ///< blanks before each column
constexpr std::size_t kNames = 18;      ///< least width to which the heading of the rows is wrapped
constexpr std::size_t kLeastRoom = 20;  ///< beside names that leave no room

using Row = std::vector<std::string>;

/// Width of a column's widest cell.
std::size_t natural_width(const std::vector<Row>& rows, std::size_t column) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, text::display_width(row[column]));
  return width;
}

/// Prints the cells `shown` of a row, wrapped to `widths`.
std::string wrapped_row(const Row& row, const std::vector<std::size_t>& shown,
                        const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t lines = 0;
  for (const std::size_t column : shown) {
    cells.push_back(text::wrap(row[column], std::max<std::size_t>(1, widths[column])));
    lines = std::max(lines, cells.back().size());
  }
  std::string page;
  for (std::size_t line = 0; line < lines; ++line) {
    std::string printed;
    std::size_t start = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      start += kGap;
      printed += std::string(start - text::display_width(printed), ' ');
      if (line < cells[i].size()) printed += cells[i][line];
      start = std::max(start + widths[shown[i]], text::display_width(printed));
    }
    printed.erase(printed.find_last_not_of(' ') + 1);
    page += printed + "\n";
  }
  return page;
}

}  // namespace

std::string narrow_table(const std::vector<Row>& rows, std::size_t lead, std::size_t narrowest) {
  const std::size_t all = rows.front().size();
  std::vector<std::size_t> natural(all), widths(all), names;
  for (std::size_t i = 0; i < all; ++i) natural[i] = natural_width(rows, i);
  // The heading of the rows is wrapped if this leaves more room for columns that need it.
  const auto least_in = [&](std::size_t i, std::size_t room) {
    return std::min({natural[i], narrowest, room});
  };
  std::size_t unwrapped = 0;
  for (std::size_t i = 0; i < all; ++i)
    if (natural[i] > 0) unwrapped += kGap + (i < lead ? natural[i] : least_in(i, kWidth));
  const std::size_t longest_name =
      unwrapped <= kWidth ? natural[0] : natural_width({rows.begin() + 1, rows.end()}, 0);
  std::size_t before = 0;
  for (std::size_t i = 0; i < lead; ++i) {
    widths[i] = i > 0 ? natural[i] : std::min(natural[0], std::max(longest_name, kNames));
    if (widths[i] == 0) continue;
    names.push_back(i);
    before += kGap + widths[i];
  }
  const std::size_t room = std::max(kWidth, before + kGap + kLeastRoom) - before;
  const auto least = [&](std::size_t i) { return least_in(i, room - kGap); };
  std::string page;
  for (std::size_t first = lead; first < all;) {
    std::size_t end = first, taken = 0;
    for (; end < all && (end == first || taken + kGap + least(end) <= room); ++end) {
      widths[end] = least(end);
      taken += kGap + least(end);
    }
    // The remaining room goes to the columns with wrapped cells, one blank after another.
    for (bool wider = true; wider;) {
      wider = false;
      for (std::size_t i = first; i < end && taken < room; ++i)
        if (widths[i] < natural[i]) {
          ++widths[i];
          ++taken;
          wider = true;
        }
    }
    std::vector<std::size_t> shown = names;
    for (; first < end; ++first) shown.push_back(first);
    page += "\n";
    for (const Row& row : rows) page += wrapped_row(row, shown, widths);
  }
  return page;
}

std::string narrow_paragraph(std::string_view text, std::size_t indent) {
  std::string page;
  for (const std::string& line : text::wrap(text, kWidth - indent))
    page += std::string(indent, ' ') + line + "\n";
  return page;
}

}  // namespace popflow
