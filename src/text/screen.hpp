#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

namespace popflow {

/// Output of the program to the user: results go to one stream (standard output); messages,
/// warnings and progress go to another (standard error). Not thread-safe.
class Screen {
 public:
  /// When and how progress is shown.
  enum class Progress {
    automatic,  ///< for long work: a bar on a terminal, otherwise an occasional plain line
    always,     ///< from the start; without a terminal a plain line per second
    json,       ///< from the start, for programs: one JSON object per line, also for messages
    never,
  };

  struct Options {
    std::string program = "popflow";  ///< name by which the user calls the program
    bool quiet = false;               ///< warnings only: no messages, progress or results
    Progress progress = Progress::automatic;
    bool terminal = false;  ///< whether the messages' stream is a terminal
    bool colour = false;    ///< whether the messages' stream supports colours
    /// Returns seconds since any fixed moment; a steady clock if empty.
    std::function<double()> clock = {};
  };

  /// Discards all output, for use as a library and for tests.
  Screen() = default;
  /// The streams must outlive the Screen.
  Screen(std::ostream& results, std::ostream& messages, Options options);
  /// Screen on standard output and standard error, with the terminal's properties.
  static Screen standard(const std::string& program, bool quiet, Progress progress);

  /// Shows a message, unless it is empty.
  void message(const std::string& text);
  /// Shows a warning, even when quiet, unless it is empty.
  void warning(const std::string& text);
  /// Shows a warning about a file, unless it is empty.
  void warning(const std::string& path, const std::string& text);
  /// Shows a result of one or more lines.
  void result(const std::string& text);

  /// Sets how show_picture() draws the file at a path; without, it draws nothing.
  void draw_by(std::function<std::string(const std::string& path)> picture) {
    picture_ = std::move(picture);
  }
  /// Shows the picture of a file that was just written. Warns if there is nothing to draw.
  void show_picture(const std::string& path);

  /// Reports that `fraction` of the work is done (0 to 1); `note` describes the position. Call it
  /// often: it limits the rate of updates itself.
  void progress(double fraction, const std::string& note);
  /// Removes the bar; the next progress() begins new work.
  void progress_done();

  [[nodiscard]] bool quiet() const { return options_.quiet; }
  [[nodiscard]] const std::string& program() const { return options_.program; }

 private:
  [[nodiscard]] double now() const;
  [[nodiscard]] bool due(double elapsed) const;
  void clear_bar();
  /// Writes {kind: text} as a line of JSON.
  void object(const char* kind, const std::string& text);

  std::ostream* results_ = nullptr;
  std::ostream* messages_ = nullptr;
  Options options_;
  std::function<std::string(const std::string& path)> picture_ = {};
  double begun_ = -1;  ///< start of the current work; negative: none
  double before_ = 0;  ///< fraction that was done at the start
  double shown_ = -1;  ///< time at which progress was last shown; negative: never
  bool bar_ = false;   ///< whether a bar is on the terminal's last line
};

/// Whether standard error supports colours: only on a terminal without NO_COLOR.
bool error_stream_takes_colours();

}  // namespace popflow
