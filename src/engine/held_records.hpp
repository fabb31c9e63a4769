#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "file/trajectory_group.hpp"

namespace popflow {

/// Gathers successive records of a run in memory, so that a variable is written once for many
/// records: a write of one number costs as much as one of thousands. A killed process loses the
/// records that it holds, and a resumed run computes them again.
class HeldRecords {
 public:
  explicit HeldRecords(const TrajectoryGroup& file) : file_(file) {}

  /// Holds elements [first, first + values.size()) of a variable. Elements that follow the held
  /// ones are added, and elements from the same place replace them. Many numbers are written at
  /// once.
  void hold(const std::string& variable, std::size_t first, std::span<const double> values);
  void hold(const std::string& variable, std::size_t first, std::span<const std::int64_t> values);
  void hold(const std::string& variable, std::size_t first, std::span<const std::int8_t> values);
  void hold(const std::string& variable, std::size_t first, double value) {
    hold(variable, first, std::span<const double>(&value, 1));
  }
  void hold(const std::string& variable, std::size_t first, std::int64_t value) {
    hold(variable, first, std::span<const std::int64_t>(&value, 1));
  }
  void hold(const std::string& variable, std::size_t first, std::int8_t value) {
    hold(variable, first, std::span<const std::int8_t>(&value, 1));
  }
  /// Holds the count that declares all records held so far: element `place` of `variable`.
  void hold_count(const std::string& variable, std::size_t place, std::int64_t count);

  /// Writes everything held if there is much, or if the last write is a tenth of a second ago.
  void write_if_due();
  /// Writes everything held, between two steps, if the last write is a tenth of a second ago. Looks
  /// at the clock once in several short steps.
  void write_between_steps() {
    if (count_ && ++steps_ >= stride_) look_at_clock();
  }
  /// Writes everything held; the count last.
  void write();

 private:
  struct Piece {
    std::size_t first = 0;
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::int8_t>> numbers;
  };
  struct Count {
    std::string variable;
    std::size_t place = 0;
    std::int64_t count = 0;
  };
  template <class Number>
  void hold_numbers(const std::string& variable, std::size_t first, std::span<const Number> values);
  void write_piece(const std::string& variable, Piece& piece);
  void look_at_clock();

  TrajectoryGroup file_;
  std::map<std::string, Piece> pieces_;  ///< a piece without numbers holds nothing
  std::optional<Count> count_;
  std::size_t bytes_ = 0;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point looked_ = written_;  ///< time of the last look
  int stride_ = 1,
      steps_ = 0;  ///< steps from one look at the clock to the next, and since the last
};

}  // namespace popflow
