#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace popflow {

/// A value that a System provides (an observable, an event function, a final value): its
/// declaration together with the function that computes it. `Evaluation` is the System's evaluation
/// of a state, which the values share because it is expensive.
template <class Info, class Evaluation>
struct Bound {
  Info info;
  double (*value)(const Evaluation& evaluation);
};

/// Values of one kind that a system can have, in the order in which they are listed.
template <class Info, class Evaluation>
class BoundTable {
 public:
  BoundTable(std::vector<Bound<Info, Evaluation>> rows) : rows_(std::move(rows)) {}

  /// Declarations of the values, for SystemInfo.
  [[nodiscard]] std::vector<Info> infos() const {
    std::vector<Info> infos;
    for (const auto& row : rows_) infos.push_back(row.info);
    return infos;
  }

  /// Writes all values.
  void evaluate(const Evaluation& evaluation, std::span<double> values) const {
    if (values.size() != rows_.size())
      throw std::logic_error("the table has " + std::to_string(rows_.size()) +
                             " values, but the output has room for " +
                             std::to_string(values.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) values[i] = rows_[i].value(evaluation);
  }

  /// The rows called `names`, in that order: the values that an instance has, among those that its
  /// system can have. Throws std::logic_error for a name without a row.
  [[nodiscard]] BoundTable select(const std::vector<std::string>& names) const {
    std::vector<Bound<Info, Evaluation>> chosen;
    for (const std::string& name : names) {
      const std::size_t before = chosen.size();
      for (const auto& row : rows_)
        if (row.info.name == name) chosen.push_back(row);
      if (chosen.size() != before + 1) throw std::logic_error("there is no value called " + name);
    }
    return chosen;
  }

 private:
  std::vector<Bound<Info, Evaluation>> rows_;
};

}  // namespace popflow
