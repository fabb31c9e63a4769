#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace popflow {

/// Abilities of a terminal.
struct Look {
  std::size_t columns = 80;
  bool unicode = true;
  bool colour = false;
  std::size_t rows = 0;  ///< of the terminal; 0: not known

  /// At most `most` rows for a field, fewer where the terminal is so low that the lines around the
  /// field would push its top out of sight.
  [[nodiscard]] std::size_t field_rows(std::size_t most) const;

  /// Look of standard output: its size, whether the locale writes UTF-8, and if colours are wanted
  /// (a terminal, and no NO_COLOR).
  static Look of_standard_output();
};

/// Colours that people tell apart whatever their sight (Okabe and Ito), as numbers of a terminal's
/// 256; in turn for as many things as there are.
int colour_of(std::size_t i);

/// `text` in a colour, where the look has colours.
std::string coloured(const std::string& text, int colour, const Look& look);

/// A title in one line, with room for what follows it.
std::string in_a_line(const std::string& title, const Look& look);

/// A field of characters with dots in it: with Unicode two by four to a character (braille), else
/// one mark a character. Places are from 0 to 1, to the right and upwards.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, Look look);

  /// How a line is drawn, so that lines can be told apart without colours.
  enum class Stroke { solid, dashed, dotted };

  /// A dot; outside of the field, or NaN, it is left out.
  void dot(double x, double y, int colour, char mark = '*');
  /// From one place to another; the part that is inside.
  void line(double x0, double y0, double x1, double y1, int colour, Stroke stroke, char mark);
  /// From top to bottom, thin.
  void vertical(double x, int colour);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// From the top.
  [[nodiscard]] std::string row(std::size_t i) const;

 private:
  struct Cell {
    std::uint8_t dots = 0;
    char mark = ' ';
    int colour = -1;
  };
  void set(long column, long row, int colour, char mark);
  std::size_t columns_, rows_;
  Look look_;
  std::vector<Cell> cells_;
  std::size_t drawn_ = 0;  ///< dots of the present line, for its stroke
};

}  // namespace popflow
