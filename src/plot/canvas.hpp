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
  std::size_t rows = 0;  ///< of the terminal; 0: unknown

  /// Number of rows for a field: at most `most`, and fewer if the lines around the field would not
  /// fit on the screen.
  [[nodiscard]] std::size_t field_rows(std::size_t most) const;

  /// Properties of standard output: its size, whether the locale uses UTF-8, and whether to use
  /// colours (on a terminal, unless NO_COLOR is set).
  static Look of_standard_output();
};

/// Colours that people with any type of colour vision can distinguish (Okabe and Ito), as numbers
/// of a terminal's 256 colours. They repeat after the last one.
int colour_of(std::size_t i);

/// Colours `text` if the look has colours.
std::string coloured(const std::string& text, int colour, const Look& look);

/// Shortens a title to one line, with room for the text that follows.
std::string in_a_line(const std::string& title, const Look& look);

/// Field of characters with dots: with Unicode two by four dots per character (braille), otherwise
/// one mark per character. Coordinates run from 0 to 1, to the right and upwards.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, Look look);

  /// Stroke of a line, so that lines can be told apart without colours.
  enum class Stroke { solid, dashed, dotted };

  /// Draws a dot; ignores coordinates that are outside the field or NaN.
  void dot(double x, double y, int colour, char mark = '*');
  /// Draws the part of a line that is inside the field.
  void line(double x0, double y0, double x1, double y1, int colour, Stroke stroke, char mark);
  /// Draws a thin line from top to bottom.
  void vertical(double x, int colour);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Row i, counted from the top.
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
  std::size_t drawn_ = 0;  ///< dots of the current line, for its stroke
};

}  // namespace popflow
