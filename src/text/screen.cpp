#include "text/screen.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "popflow/error.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"

namespace popflow {
namespace {

// Seconds before and between updates: frequent enough for a smooth bar, rare enough for a log file.
constexpr double bar_delay = 0.5;
constexpr double bar_interval = 0.1;
constexpr double line_delay = 10;
constexpr double line_interval = 60;
constexpr double eager_line_interval = 1;
constexpr double json_interval = 0.2;

constexpr int bar_width = 30;

std::string percent(double fraction) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%3d%%", static_cast<int>(100 * fraction));
  return buffer;
}

/// "elapsed 1:05, left 2:10".
std::string times(double elapsed, std::optional<double> left) {
  return "elapsed " + text::duration(elapsed) + (left ? ", left " + text::duration(*left) : "");
}

std::string bar(double fraction) {
  const auto filled = static_cast<std::size_t>(fraction * bar_width);
  return "[" + std::string(filled, '#') + std::string(bar_width - filled, '-') + "]";
}

}  // namespace

bool error_stream_takes_colours() {
  // NO_COLOR applies if it is set and not empty (no-color.org).
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

Screen::Screen(std::ostream& results, std::ostream& messages, Options options)
    : results_(&results), messages_(&messages), options_(std::move(options)) {}

Screen Screen::standard(const std::string& program, bool quiet, Progress progress) {
  Options options;
  options.program = program;
  options.quiet = quiet;
  options.progress = progress;
  options.terminal = isatty(STDERR_FILENO) == 1;
  options.colour = error_stream_takes_colours();
  return {std::cout, std::cerr, options};
}

double Screen::now() const {
  if (options_.clock) return options_.clock();
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

void Screen::message(const std::string& text) {
  if (messages_ == nullptr || options_.quiet || text.empty()) return;
  if (options_.progress == Progress::json) return object("note", text);
  clear_bar();
  *messages_ << text::printable(text) << '\n' << std::flush;
}

void Screen::warning(const std::string& text) {
  if (messages_ == nullptr || text.empty()) return;
  if (options_.progress == Progress::json) return object("warning", text);
  clear_bar();
  *messages_ << (options_.colour ? "\033[33mwarning:\033[0m " : "warning: ")
             << text::printable(text) << '\n'
             << std::flush;
}

void Screen::object(const char* kind, const std::string& text) {
  *messages_ << nlohmann::ordered_json{{kind, text::printable(text)}} << std::endl;
}

void Screen::warning(const std::string& path, const std::string& text) {
  if (!text.empty()) warning(path + ": " + text);
}

void Screen::result(const std::string& text) {
  if (results_ == nullptr || options_.quiet) return;
  clear_bar();
  *results_ << text;
  if (!text.ends_with('\n')) *results_ << '\n';
  results_->flush();
}

void Screen::show_picture(const std::string& path) {
  if (!picture_) return;
  try {
    result("\n" + picture_(path));
  } catch (const Error& error) {
    warning(std::string("no picture: ") + error.what());
  }
}

bool Screen::due(double elapsed) const {
  const bool first = shown_ < 0;
  if (options_.progress == Progress::json)
    return first || begun_ + elapsed - shown_ >= json_interval;
  const bool eager = options_.progress == Progress::always;
  if (first) return eager || elapsed >= (options_.terminal ? bar_delay : line_delay);
  const double lines = eager ? eager_line_interval : line_interval;
  return begun_ + elapsed - shown_ >= (options_.terminal ? bar_interval : lines);
}

void Screen::progress(double fraction, const std::string& note) {
  if (messages_ == nullptr || options_.quiet || options_.progress == Progress::never) return;
  const double time = now();
  const double done = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  if (begun_ < 0) {
    begun_ = time;
    before_ = done;
  }
  const double elapsed = time - begun_;
  if (!due(elapsed)) return;
  shown_ = time;
  // Extrapolates the pace since the start of this process. Work that was done before a resume does
  // not count.
  const std::optional<double> left =
      done > before_ ? std::optional<double>(elapsed * (1 - done) / (done - before_))
                     : std::nullopt;
  if (options_.progress == Progress::json) {
    nlohmann::ordered_json json = {{"done", done}, {"elapsed", elapsed}};
    json["seconds_left"] = left ? nlohmann::ordered_json(*left) : nlohmann::ordered_json();
    json["text"] = note;
    *messages_ << json << std::endl;
    return;
  }
  const std::string rest = times(elapsed, left) + (note.empty() ? "" : ", " + note);
  if (options_.terminal) {
    *messages_ << '\r' << bar(done) << ' ' << percent(done) << "  " << rest << "\033[K";
    bar_ = true;
  } else {
    *messages_ << percent(done) << " done, " << rest << '\n';
  }
  messages_->flush();
}

void Screen::progress_done() {
  clear_bar();
  begun_ = -1;
  shown_ = -1;
}

void Screen::clear_bar() {
  if (!bar_) return;
  *messages_ << "\r\033[K" << std::flush;
  bar_ = false;
}

}  // namespace popflow
