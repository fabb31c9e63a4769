#pragma once

#include <functional>
#include <string>
#include <utility>

namespace popflow::verification {

/// Tells how far the checks are: one row after the other, each with its parts.
class Progress {
 public:
  using Show = std::function<void(double done, const std::string& what)>;

  Progress(Show show, double rows) : show_(std::move(show)), rows_(rows) {}

  /// The next row is begun.
  void row(const std::string& name) {
    if (!name_.empty()) before_ += 1;
    name_ = name;
    part(0);
  }
  /// So much of the row is done, 0 to 1; what is next. To be called often.
  void part(double done, const std::string& what = "") {
    done_ = done;
    what_ = what.empty() ? name_ : name_ + ": " + what;
    still();
  }
  /// The same still goes on.
  void still() const {
    if (show_) show_((before_ + done_) / rows_, what_);
  }

 private:
  Show show_;
  double rows_;
  double before_ = 0, done_ = 0;  ///< rows, and parts of this one
  std::string name_, what_;
};

}  // namespace popflow::verification
