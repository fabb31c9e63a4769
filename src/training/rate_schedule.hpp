#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace popflow {

/// Factor s(t) on the learning rate: a linear warm-up from 0 to 1, times a schedule that `Course`
/// selects. Linear and cosine courses begin at the end of the warm-up. Times are flow times.
class RateSchedule {
 public:
  enum class Course { constant, linear, cosine, inverse_sqrt, step };

  struct Options {
    Course course = Course::constant;
    double warmup = 0;               ///< length of the warm-up; 0: none
    double length = 0;               ///< end of a linear or cosine course
    double final_rate = 0;           ///< value at the end of a linear or cosine course
    double from = 0;                 ///< inverse_sqrt: the factor is sqrt(from/t) from this time on
    std::vector<double> steps = {};  ///< step: times of the steps, increasing
    double factor = 1;               ///< step: factor at each step

    bool operator==(const Options&) const = default;
    /// Whether the course has an end.
    [[nodiscard]] bool has_end() const {
      return course == Course::linear || course == Course::cosine;
    }
  };

  RateSchedule() = default;
  bool operator==(const RateSchedule&) const = default;
  explicit RateSchedule(Options options) : options_(std::move(options)) {}

  /// Parses the value of --learning-rate-schedule: constant, linear, cosine, inverse-sqrt:X or
  /// step:T1,T2,...:FACTOR. Throws UsageError for any other value.
  static Options parse(const std::string& words);

  [[nodiscard]] bool is_constant() const {
    return options_.course == Course::constant && options_.warmup == 0;
  }
  /// End of a linear or cosine course; empty for other courses.
  [[nodiscard]] std::optional<double> ends() const;
  /// s(t), continuous from the right.
  [[nodiscard]] double at(double t) const;
  /// s at the beginning t of a step. t is a multiple of a step length and carries its rounding
  /// error: a time that is below a kink by no more than this error counts as the kink.
  [[nodiscard]] double at_step(double t) const;
  /// First time after t at which s or its slope jumps; infinite if there is none.
  [[nodiscard]] double next_kink(double t) const;

 private:
  [[nodiscard]] double course_at(double t) const;

  Options options_;
};

}  // namespace popflow
