#pragma once

#include <functional>
#include <string>
#include <utility>

namespace popflow::verification {

/// Reports the progress of the checks: one row after the other, each in parts.
class Progress {
 public:
  using Show = std::function<void(double done, const std::string& what)>;

  Progress(Show show, double rows) : show_(std::move(show)), rows_(rows) {}

  /// Begins the next row.
  void row(const std::string& name) {
    if (!name_.empty()) before_ += 1;
    name_ = name;
    part(0);
  }
  /// Reports the fraction of the row that is done (0 to 1), and what is next. To be called often.
  void part(double done, const std::string& what = "") {
    done_ = done;
    what_ = what.empty() ? name_ : name_ + ": " + what;
    still();
  }
  /// Reports that the current part is still running.
  void still() const {
    if (show_) show_((before_ + done_) / rows_, what_);
  }

 private:
  Show show_;
  double rows_;
  double before_ = 0, done_ = 0;  ///< rows done, and the fraction of the current one
  std::string name_, what_;
};

}  // namespace popflow::verification
