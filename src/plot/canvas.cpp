#include "plot/canvas.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "text/text.hpp"

namespace popflow {

namespace {

// Dots per character.
constexpr long kAcross = 2;
constexpr long kDown = 4;

/// Bit of each dot in a braille character (U+2800 and on), by row and column.
constexpr std::uint8_t kBits[kDown][kAcross] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

/// Whether the locale uses UTF-8; the first of these variables that is set decides.
bool writes_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::string braille(std::uint8_t dots) {
  const unsigned code = 0x2800U + dots;
  return {static_cast<char>(0xE0U | (code >> 12U)),
          static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

}  // namespace

Look Look::of_standard_output() {
  Look look;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col >= 40) look.columns = std::min<std::size_t>(size.ws_col, 160);
    look.rows = size.ws_row;
  }
  look.unicode = writes_utf8();
  const char* no_colour = std::getenv("NO_COLOR");
  look.colour = terminal && (no_colour == nullptr || *no_colour == '\0');
  return look;
}

std::size_t Look::field_rows(std::size_t most) const {
  constexpr std::size_t kAround = 7;  // title, axis, its labels, legend, marks, prompt
  constexpr std::size_t kFewest = 6;
  if (rows == 0 || most <= kFewest) return most;
  return std::clamp(rows - std::min(rows, kAround), kFewest, most);
}

int colour_of(std::size_t i) {
  constexpr std::array<int, 7> colours = {32, 208, 36, 169, 220, 75, 166};
  return colours[i % colours.size()];
}

std::string coloured(const std::string& text, int colour, const Look& look) {
  if (!look.colour || colour < 0) return text;
  return "\033[38;5;" + std::to_string(colour) + "m" + text + "\033[0m";
}

std::string in_a_line(const std::string& title, const Look& look) {
  const std::vector<std::string> lines = text::wrap(title, look.columns - 8);
  return lines.size() > 1 ? lines.front() + " ..." : title;
}

Canvas::Canvas(std::size_t columns, std::size_t rows, Look look)
    : columns_(columns), rows_(rows), look_(look), cells_(columns * rows) {}

void Canvas::set(long column, long row, int colour, char mark) {
  const long width = static_cast<long>(columns_) * kAcross;
  const long height = static_cast<long>(rows_) * kDown;
  if (column < 0 || row < 0 || column >= width || row >= height) return;
  const long from_top = height - 1 - row;
  Cell& cell = cells_[static_cast<std::size_t>(from_top / kDown) * columns_ +
                      static_cast<std::size_t>(column / kAcross)];
  cell.dots |= kBits[from_top % kDown][column % kAcross];
  cell.mark = mark;
  cell.colour = colour;
}

void Canvas::dot(double x, double y, int colour, char mark) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (x < -1e-9 || x > 1 + 1e-9 || y < -1e-9 || y > 1 + 1e-9) return;
  const auto place = [](double at, std::size_t dots) {
    return std::lround(at * static_cast<double>(dots - 1));
  };
  set(place(x, columns_ * kAcross), place(y, rows_ * kDown), colour, mark);
}

void Canvas::line(double x0, double y0, double x1, double y1, int colour, Stroke stroke,
                  char mark) {
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(x1) || !std::isfinite(y1)) return;
  const double wide = static_cast<double>(columns_ * kAcross - 1);
  const double high = static_cast<double>(rows_ * kDown - 1);
  // Limits the length, because a line far outside the field would take forever to draw.
  const double length = std::min(1e5, std::max(std::abs(x1 - x0) * wide, std::abs(y1 - y0) * high));
  const auto steps = static_cast<std::size_t>(std::max(1.0, std::ceil(length)));
  for (std::size_t i = 0; i < steps; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(steps);
    const bool shown =
        stroke == Stroke::solid || (stroke == Stroke::dashed ? drawn_ % 8 < 5 : drawn_ % 4 == 0);
    ++drawn_;
    if (shown) dot(x0 + part * (x1 - x0), y0 + part * (y1 - y0), colour, mark);
  }
  if (stroke == Stroke::solid) dot(x1, y1, colour, mark);
}

void Canvas::vertical(double x, int colour) {
  const std::size_t dots = rows_ * kDown;
  for (std::size_t i = 0; i < dots; i += 3)
    dot(x, static_cast<double>(i) / static_cast<double>(dots - 1), colour, '|');
}

std::string Canvas::row(std::size_t i) const {
  std::string text;
  for (std::size_t column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[i * columns_ + column];
    if (cell.dots == 0)
      text += ' ';
    else
      text += coloured(look_.unicode ? braille(cell.dots) : std::string(1, cell.mark), cell.colour,
                       look_);
  }
  return text;
}

}  // namespace popflow
