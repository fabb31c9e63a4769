#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace popflow {

/// Output to the user while the program works: results on one stream (standard output), messages,
/// warnings and progress on another (standard error). Not for use by several threads at once.
class Screen {
 public:
  /// When progress is shown.
  enum class Progress {
    automatic,  ///< if the work takes long: a bar on a terminal, else a plain line now and then
    always,     ///< from the start; off a terminal a plain line a second
    json,       ///< from the start, for programs: an object a line, of messages as well
    never,
  };

  struct Options {
    std::string program = "popflow";  ///< how the user calls the program
    bool quiet = false;               ///< warnings alone: no messages, progress or results
    Progress progress = Progress::automatic;
    bool terminal = false;  ///< the messages' stream is a terminal
    bool colour = false;    ///< the messages' stream takes colours
    /// Seconds since any fixed moment; a steady clock if empty.
    std::function<double()> clock = {};
  };

  /// Writes to nothing: for use as a library, and for tests.
  Screen() = default;
  /// The streams must outlive the Screen.
  Screen(std::ostream& results, std::ostream& messages, Options options);
  /// Standard output and standard error, with a terminal's abilities as found.
  static Screen standard(const std::string& program, bool quiet, Progress progress);

  /// A message.
  void message(const std::string& text);
  /// A sentence that the user should not miss; shown also when quiet.
  void warning(const std::string& text);
  /// The result; one or more lines.
  void result(const std::string& text);

  /// To be called often: `fraction` of the work is done (0 to 1); `note` describes the position.
  /// Shows something only when it is time for it.
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
  double begun_ = -1;  ///< when the current work began; negative: none
  double before_ = 0;  ///< the share of it that was done then
  double shown_ = -1;  ///< when progress was last shown; negative: not yet
  bool bar_ = false;   ///< a bar is on the terminal's last line
};

/// Does standard error take colours? Only on a terminal, and not under NO_COLOR.
bool error_stream_takes_colours();

}  // namespace popflow
