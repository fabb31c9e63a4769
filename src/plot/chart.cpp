#include "plot/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "text/text.hpp"

namespace popflow {

namespace {

/// Characters that mark lines if there is no braille.
constexpr std::string_view kMarks = "*+ox#%@";

/// Colour of event marks, distinct from the lines.
constexpr int kGrey = 244;

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t own = text::display_width(text);
  return std::string(width > own ? width - own : 0, ' ') + text;
}

char mark_of(const Line& line) { return kMarks[line.colour % kMarks.size()]; }

void draw_line(Canvas& canvas, const Chart& chart, const Line& line) {
  const int colour = colour_of(line.colour);
  if (line.x.size() == 1)
    canvas.dot(chart.x.place(line.x[0]), chart.y.place(line.y[0]), colour, mark_of(line));
  for (std::size_t i = 1; i < line.x.size(); ++i)
    canvas.line(chart.x.place(line.x[i - 1]), chart.y.place(line.y[i - 1]),
                chart.x.place(line.x[i]), chart.y.place(line.y[i]), colour, line.stroke,
                mark_of(line));
}

std::string stroke_sample(const Line& line, const Look& look) {
  if (!look.unicode) return std::string(3, mark_of(line));
  switch (line.stroke) {
    case Canvas::Stroke::solid:
      return "───";
    case Canvas::Stroke::dashed:
      return "╶─╴";
    case Canvas::Stroke::dotted:
      return "···";
  }
  return "";
}

/// Relative change below which a quantity counts as conserved, because its digits are only
/// rounding.
constexpr double kFlat = 1e-9;

/// Range of the numbers, relative to the largest magnitude.
double spread_of(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double size = std::max(std::abs(low), std::abs(high));
  return low < high ? (high - low) / size : 0;
}

/// The axis line below the field with its ticks, and the labels below.
std::string x_axis(const Chart& chart, std::size_t columns, std::size_t left, const Look& look) {
  const std::vector<Tick> ticks = chart.x.ticks(columns / 12);
  const auto column_of = [&](const Tick& tick) {
    return static_cast<std::size_t>(std::lround(tick.place * static_cast<double>(columns - 1)));
  };
  std::string line = std::string(left, ' ') + (look.unicode ? " └" : " +");
  std::vector<bool> at(columns, false);
  for (const Tick& tick : ticks) at[column_of(tick)] = true;
  for (std::size_t i = 0; i < columns; ++i)
    line += look.unicode ? (at[i] ? "┬" : "─") : (at[i] ? "+" : "-");
  const std::size_t width = left + 2 + columns;
  std::string labels(left + 2, ' ');
  for (const Tick& tick : ticks) {
    // Centred below its tick, if there is room.
    const std::size_t centre = left + 2 + column_of(tick);
    const std::size_t wanted = centre - std::min(centre, tick.label.size() / 2);
    const std::size_t begin = std::min(wanted, width - std::min(width, tick.label.size()));
    const bool first = labels.size() == left + 2;
    if (!first && begin <= labels.size()) continue;
    labels += std::string(begin > labels.size() ? begin - labels.size() : 0, ' ') + tick.label;
  }
  const std::string name = chart.x_name + (chart.x.logarithmic() ? " (log)" : "");
  const std::size_t used = text::display_width(labels) + text::display_width(name);
  if (used + 2 <= width)
    labels += std::string(width - used, ' ') + name;
  else
    labels += "\n" + padded(name, width);
  return line + "\n" + labels + "\n";
}

/// Names of the lines with samples of their strokes, in as many rows as the terminal's width
/// requires.
std::string legend_of(const Chart& chart, std::size_t indent, const Look& look) {
  constexpr std::size_t kGap = 3;
  std::string legend;
  std::size_t used = 0;
  for (const Line& line : chart.lines) {
    if (!line.named || line.name.empty()) continue;
    const std::string sample = stroke_sample(line, look);
    const std::size_t width = text::display_width(sample) + 1 + text::display_width(line.name);
    if (used > 0 && used + kGap + width > look.columns) {
      legend += "\n";
      used = 0;
    }
    legend += std::string(used == 0 ? indent : kGap, ' ') +
              coloured(sample, colour_of(line.colour), look) + " " + line.name;
    used += width + (used == 0 ? indent : kGap);
  }
  return legend.empty() ? "" : legend + "\n";
}

}  // namespace

std::string drawn(const Chart& chart, const Look& look) {
  const std::size_t rows = look.field_rows(chart.rows);
  const std::vector<Tick> ticks = chart.y.ticks(rows / 3);
  std::size_t left = 0;
  for (const Tick& tick : ticks) left = std::max(left, tick.label.size());
  const std::size_t columns = look.columns - std::min(look.columns - 20, left + 3);
  Canvas canvas(columns, rows, look);
  for (const Mark& mark : chart.marks) canvas.vertical(chart.x.place(mark.x), kGrey);
  for (const Line& line : chart.lines) draw_line(canvas, chart, line);

  std::vector<std::string> labels(rows);
  for (const Tick& tick : ticks) {
    const double from_top = (1 - tick.place) * static_cast<double>(rows - 1);
    labels[static_cast<std::size_t>(std::lround(from_top))] = tick.label;
  }
  std::string text = in_a_line(chart.title, look) + (chart.y.logarithmic() ? " (log)" : "") + "\n";
  for (std::size_t i = 0; i < rows; ++i) {
    const bool tick = !labels[i].empty();
    text += padded(labels[i], left) + (look.unicode ? (tick ? " ┤" : " │") : (tick ? " +" : " |")) +
            canvas.row(i) + "\n";
  }
  text += x_axis(chart, columns, left, look);
  text += legend_of(chart, left + 2, look);
  if (!chart.marks.empty()) {
    std::vector<std::string> words;
    for (const Mark& mark : chart.marks) words.push_back(mark.name + " " + text::rounded(mark.x));
    text += text::paragraph((look.unicode ? "┊ " : "| ") + text::join(words, ", "), left + 2);
  }
  return text;
}

std::string sparkline(const std::vector<double>& values, std::size_t width, const Look& look) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kPlain = "_.-=+*#@";
  const Scale scale = scale_of(values, needs_logarithm(values));
  const bool flat = spread_of(values) <= kFlat;
  const std::size_t count = std::min(width, values.size());
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (values.size() - 1) / (count - 1);
    const double place = scale.place(values[at]);
    if (!std::isfinite(place)) {
      text += ' ';
      continue;
    }
    const auto level = flat ? 3 : static_cast<std::size_t>(std::clamp(place * 8, 0.0, 7.0));
    text += look.unicode ? std::string(kBlocks[level]) : std::string(1, kPlain[level]);
  }
  return text;
}

}  // namespace popflow
