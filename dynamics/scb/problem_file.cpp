#include "dynamics/scb/problem_file.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/problem_file.hpp"

namespace popflow::scb {
namespace {

using RowMajor = ProblemFile::Matrix;

/// Reads one problem from its file, dataset by dataset.
class Reader : private ProblemFile {
 public:
  explicit Reader(const std::string& path) : ProblemFile(path, {"P"}) {}

  Problem read();

 private:
  /// Reason for a shape, for error messages.
  [[nodiscard]] std::string as_P_has() const {
    return "P has " + std::to_string(problem_.vocabulary()) + " tokens";
  }

  void read_transitions();
  void read_stationary();
  void read_start();
  void read_labels();
  [[nodiscard]] std::optional<std::int64_t> context_length() const;
  void read_sparse();
  void read_dense();
  void compare_with_dense() const;
  template <class Visit>
  void for_each_dense_entry(Visit visit) const;

  Problem problem_;
};

void Reader::read_transitions() {
  const std::vector<std::size_t> size = shape("P");
  if (size.size() != 2 || size[0] != size[1] || size[0] < 2)
    throw bad("P has shape " + in_words(size) + "; it must be square with at least 2 tokens");
  const RowMajor P = matrix("P");
  require_columns_of_probabilities("P", P);
  problem_.P = P;
}

void Reader::read_stationary() {
  const Eigen::Index N = problem_.vocabulary();
  if (!has("mu")) {
    problem_.mu = stationary_distribution(problem_.P, file().path() + ": P");
    return;
  }
  const Eigen::VectorXd mu = vector("mu", static_cast<std::size_t>(N), as_P_has());
  for (Eigen::Index n = 0; n < N; ++n) {
    const char* reason = probability_fault(mu[n]);
    // A subnormal number counts as 0, because the flow divides by mu.
    if (!reason && !std::isnormal(mu[n])) reason = "; every entry must be positive";
    if (reason) throw bad(entry_name("mu", n) + " is " + shortest(mu[n]) + reason);
  }
  require_distribution("mu", mu);
  const Eigen::VectorXd change = problem_.P * mu - mu;
  for (Eigen::Index n = 0; n < N; ++n) {
    if (std::abs(change[n]) <= problem_tolerance) continue;
    throw bad("mu is not stationary: (P mu - mu)[" + std::to_string(n) + "] is " +
              shortest(change[n]) + "; it must be 0 within " + shortest(problem_tolerance));
  }
  problem_.mu = mu;
}

void Reader::read_start() {
  if (!has("V0")) return;
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  const RowMajor start = matrix("V0", N, N, as_P_has());
  require_finite("V0", start);
  problem_.V0 = start;
  problem_.transfer_correlation = file().number_attribute(group(), "transfer_correlation");
}

/// Reads the tokens' labels. A run's file keeps them on the dimension `token`, which its problem
/// shares with its root. Labels are optional: anything but a list of N words is ignored.
void Reader::read_labels() {
  for (const std::string& dimension : {inside("token"), std::string("token")}) {
    if (!file().has_dataset(dimension)) continue;
    const std::optional<std::string> text = file().text_attribute(dimension, "labels");
    if (!text) continue;
    std::vector<std::string> labels = split_labels(*text);
    if (labels.size() == static_cast<std::size_t>(problem_.vocabulary())) {
      problem_.labels = std::move(labels);
      return;
    }
  }
}

std::optional<std::int64_t> Reader::context_length() const {
  const std::optional<double> number = file().number_attribute(group(), "context_length");
  if (!number) return std::nullopt;
  if (!(*number >= 1 && *number <= largest_whole) || *number != std::floor(*number)) {
    throw bad("attribute context_length is " + shortest(*number) +
              "; it must be a whole number, at least 1");
  }
  return static_cast<std::int64_t>(*number);
}

void Reader::read_sparse() {
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  if (!has("Q_value")) throw wrong("holds Q_position but no Q_value");
  if (!has("Q_position")) throw wrong("holds Q_value but no Q_position");
  const std::vector<std::size_t> size = shape("Q_value");
  require_shape("Q_value", size.empty() ? 0 : size[0], N, as_P_has());
  require_shape("Q_position", size[0], N, as_P_has());
  const std::optional<std::int64_t> length = context_length();
  if (!length) {
    throw wrong("has no attribute context_length beside Q_value (a number, on " +
                (group().empty() ? "the root" : "group " + group()) + ")");
  }

  const RowMajor value = matrix("Q_value");
  const RowMajor position = matrix("Q_position");
  Positions& Q = problem_.Q;
  Q.context_length = *length;
  Q.weight.resize(value.rows(), value.cols());
  Q.position.resize(value.rows(), value.cols());
  for (Eigen::Index k = 0; k < value.cols(); ++k) {
    std::vector<WeightedPosition> column;
    std::unordered_map<std::int64_t, Eigen::Index> slot_of;
    for (Eigen::Index i = 0; i < value.rows(); ++i) {
      require_probability("Q_value", i, k, value(i, k));
      if (value(i, k) == 0) continue;
      const double place = position(i, k);
      if (!(place >= 0 && place < static_cast<double>(*length)) || place != std::floor(place)) {
        throw bad(entry_name("Q_position", i, k) + " is " + shortest(place) +
                  "; positions are whole numbers from 0 to " + std::to_string(*length - 1) +
                  " (context_length " + std::to_string(*length) + ")");
      }
      const auto whole = static_cast<std::int64_t>(place);
      const auto [first, is_new] = slot_of.try_emplace(whole, i);
      if (!is_new) {
        throw bad(entry_name("Q_position", i, k) + " is " + std::to_string(whole) + " like " +
                  entry_name("Q_position", first->second, k) +
                  "; the positions of a column must be distinct");
      }
      column.push_back({whole, value(i, k)});
    }
    set_column(Q, k, std::move(column));
  }
  require_columns_sum_to_one("Q_value", Q.weight.colwise().sum());
}

/// Calls visit(position, query, value) for each entry of the dense Q, row by row. The matrix may be
/// far larger than its non-zeros, so it is never held in memory as a whole.
template <class Visit>
void Reader::for_each_dense_entry(Visit visit) const {
  const std::vector<std::size_t> size = shape("Q");
  const std::size_t rows = size[0];
  const std::size_t columns = size[1];
  const std::size_t block = std::max<std::size_t>(1, (std::size_t{1} << 20) / columns);
  std::vector<double> values(std::min(block, rows) * columns);
  for (std::size_t first = 0; first < rows; first += block) {
    const std::size_t count = std::min(block, rows - first);
    file().read_rows(inside("Q"), {}, first, count, values.data());
    for (std::size_t i = 0; i < count * columns; ++i) {
      visit(static_cast<std::int64_t>(first + i / columns), static_cast<Eigen::Index>(i % columns),
            values[i]);
    }
  }
}

void Reader::read_dense() {
  const Eigen::Index N = problem_.vocabulary();
  const std::vector<std::size_t> size = shape("Q");
  const auto tokens = static_cast<std::size_t>(N);
  if (size.size() == 2 && size[0] == tokens && size[1] != tokens)
    throw bad("Q has shape " + in_words(size) + "; its columns belong to the " +
              std::to_string(tokens) + " tokens of P: it seems to be transposed");
  require_shape("Q", size.empty() ? 0 : size[0], tokens, as_P_has());
  const auto length = static_cast<std::int64_t>(size[0]);
  if (const auto stated = context_length(); stated && *stated != length) {
    throw bad("Q has " + std::to_string(length) + " rows, but attribute context_length is " +
              std::to_string(*stated));
  }
  std::vector<std::vector<WeightedPosition>> columns(static_cast<std::size_t>(N));
  Eigen::RowVectorXd sums = Eigen::RowVectorXd::Zero(N);
  for_each_dense_entry([&](std::int64_t position, Eigen::Index query, double value) {
    if (value == 0) return;
    require_probability("Q", position, query, value);
    sums[query] += value;
    columns[static_cast<std::size_t>(query)].push_back({position, value});
  });
  require_columns_sum_to_one("Q", sums);

  std::size_t slots = 0;
  for (const auto& column : columns) slots = std::max(slots, column.size());
  Positions& Q = problem_.Q;
  Q.context_length = length;
  Q.weight.resize(static_cast<Eigen::Index>(slots), N);
  Q.position.resize(static_cast<Eigen::Index>(slots), N);
  for (Eigen::Index k = 0; k < N; ++k) {
    set_column(Q, k, std::move(columns[static_cast<std::size_t>(k)]));
  }
}

void Reader::compare_with_dense() const {
  const Positions& Q = problem_.Q;
  require_shape("Q", static_cast<std::size_t>(Q.context_length),
                static_cast<std::size_t>(problem_.vocabulary()), as_P_has());
  // Both representations traverse a column by ascending position, so one cursor per column
  // suffices.
  std::vector<Eigen::Index> next(static_cast<std::size_t>(problem_.vocabulary()), 0);
  for_each_dense_entry([&](std::int64_t position, Eigen::Index query, double value) {
    Eigen::Index& slot = next[static_cast<std::size_t>(query)];
    double sparse = 0;
    if (slot < Q.slots() && Q.position(slot, query) == position) sparse = Q.weight(slot++, query);
    // Written so that NaN counts as a disagreement.
    if (std::abs(value - sparse) <= problem_tolerance) return;
    throw bad(entry_name("Q", position, query) + " is " + shortest(value) +
              ", but Q_value with Q_position says " + shortest(sparse) + "; the two must agree");
  });
}

Problem Reader::read() {
  refuse_misspelt({"P", "mu", "Q", "Q_value", "Q_position", "V0"});
  read_transitions();
  read_stationary();
  const bool sparse = has("Q_value") || has("Q_position");
  if (!sparse && !has("Q")) throw wrong("holds no positions: neither Q_value nor Q");
  if (sparse) {
    read_sparse();
    if (has("Q")) compare_with_dense();
  } else {
    read_dense();
  }
  read_start();
  read_labels();
  return std::move(problem_);
}

}  // namespace

Problem read_problem_file(const std::string& path) { return Reader(path).read(); }

}  // namespace popflow::scb
