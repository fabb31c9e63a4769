#include "dynamics/scb/problem_file.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "popflow/parameter.hpp"
#include "popflow/system.hpp"

namespace popflow::scb {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Whole numbers up to here are exact in a double.
constexpr double largest_whole = 0x1p53;

std::string in_words(const std::vector<std::size_t>& shape) {
  std::string words;
  for (const std::size_t size : shape) words += (words.empty() ? "" : ", ") + std::to_string(size);
  return "(" + words + ")";
}

std::string entry(const std::string& name, Eigen::Index row, Eigen::Index column) {
  return name + "[" + std::to_string(row) + "," + std::to_string(column) + "]";
}

/// What is wrong with an entry of a probability vector; nullptr if nothing is.
const char* fault(double value) {
  if (!std::isfinite(value)) return "; every entry must be finite";
  return value < 0 ? "; no entry may be negative" : nullptr;
}

/// The datasets of one problem within its file, and the sentences about what is wrong with them.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path) {
    if (file_.has_dataset("P")) return;
    if (!file_.has_dataset("problem/P")) {
      throw wrong("holds no dataset P, neither at its root nor in a group problem");
    }
    group_ = "problem";
  }

  Problem read();

 private:
  [[nodiscard]] InputError wrong(const std::string& what) const {
    return InputError(file_.path() + " " + what);
  }
  [[nodiscard]] InputError bad(const std::string& what) const {
    return InputError(file_.path() + ": " + what);
  }
  [[nodiscard]] std::string inside(const std::string& name) const {
    return group_.empty() ? name : group_ + "/" + name;
  }
  [[nodiscard]] bool has(const std::string& name) const { return file_.has_dataset(inside(name)); }

  [[nodiscard]] RowMajor matrix(const std::string& name) const;
  void require_shape(const std::string& name, std::size_t rows, std::size_t columns) const;
  void require_probability(const std::string& name, Eigen::Index row, Eigen::Index column,
                           double value) const;
  void require_columns_sum_to_one(const std::string& name, const Eigen::RowVectorXd& sums) const;

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

  DataFile file_;
  std::string group_;
  Problem problem_;
};

RowMajor Reader::matrix(const std::string& name) const {
  const std::vector<std::size_t> shape = file_.shape(inside(name));
  if (shape.size() != 2)
    throw bad(name + " has shape " + in_words(shape) + "; it must be a matrix");
  const DataArray array = file_.read(inside(name));
  return Eigen::Map<const RowMajor>(array.values.data(), static_cast<Eigen::Index>(shape[0]),
                                    static_cast<Eigen::Index>(shape[1]));
}

void Reader::require_shape(const std::string& name, std::size_t rows, std::size_t columns) const {
  const std::vector<std::size_t> shape = file_.shape(inside(name));
  const std::vector<std::size_t> expected = {rows, columns};
  if (shape != expected) {
    throw bad(name + " has shape " + in_words(shape) + "; it must be " + in_words(expected) +
              ", as P has " + std::to_string(problem_.vocabulary()) + " tokens");
  }
}

void Reader::require_probability(const std::string& name, Eigen::Index row, Eigen::Index column,
                                 double value) const {
  if (const char* reason = fault(value)) {
    throw bad(entry(name, row, column) + " is " + shortest(value) + reason);
  }
}

void Reader::require_columns_sum_to_one(const std::string& name,
                                        const Eigen::RowVectorXd& sums) const {
  for (Eigen::Index k = 0; k < sums.size(); ++k) {
    if (std::abs(sums[k] - 1) <= problem_tolerance) continue;
    throw bad("column " + std::to_string(k) + " of " + name + " sums to " + shortest(sums[k]) +
              "; every column must sum to 1 within " + shortest(problem_tolerance));
  }
}

void Reader::read_transitions() {
  const std::vector<std::size_t> shape = file_.shape(inside("P"));
  if (shape.size() != 2 || shape[0] != shape[1] || shape[0] < 2) {
    throw bad("P has shape " + in_words(shape) + "; it must be square with at least 2 tokens");
  }
  problem_.P = matrix("P");
  const Eigen::MatrixXd& P = problem_.P;
  for (Eigen::Index i = 0; i < P.rows(); ++i) {
    for (Eigen::Index j = 0; j < P.cols(); ++j) require_probability("P", i, j, P(i, j));
  }
  require_columns_sum_to_one("P", P.colwise().sum());
}

void Reader::read_stationary() {
  const Eigen::Index N = problem_.vocabulary();
  if (!has("mu")) {
    problem_.mu = stationary_distribution(problem_.P, file_.path() + ": P");
    return;
  }
  // A vector may come as a matrix of one row or column: some programs know no other vectors.
  const std::vector<std::size_t> shape = file_.shape(inside("mu"));
  const auto long_axes =
      std::count_if(shape.begin(), shape.end(), [](std::size_t size) { return size != 1; });
  const DataArray array = file_.read(inside("mu"));
  if (long_axes != 1 || array.values.size() != static_cast<std::size_t>(N)) {
    throw bad("mu has shape " + in_words(shape) + "; it must be (" + std::to_string(N) +
              "), as P has " + std::to_string(N) + " tokens");
  }
  problem_.mu = Eigen::Map<const Eigen::VectorXd>(array.values.data(), N);
  const Eigen::VectorXd& mu = problem_.mu;
  for (Eigen::Index n = 0; n < N; ++n) {
    const char* reason = fault(mu[n]);
    // A subnormal number counts as 0: the flow divides by mu.
    if (!reason && !std::isnormal(mu[n])) reason = "; every entry must be positive";
    if (reason) throw bad("mu[" + std::to_string(n) + "] is " + shortest(mu[n]) + reason);
  }
  if (std::abs(mu.sum() - 1) > problem_tolerance) {
    throw bad("mu sums to " + shortest(mu.sum()) + "; it must sum to 1 within " +
              shortest(problem_tolerance));
  }
  const Eigen::VectorXd change = problem_.P * mu - mu;
  for (Eigen::Index n = 0; n < N; ++n) {
    if (std::abs(change[n]) <= problem_tolerance) continue;
    throw bad("mu is not stationary: (P mu - mu)[" + std::to_string(n) + "] is " +
              shortest(change[n]) + "; it must be 0 within " + shortest(problem_tolerance));
  }
}

void Reader::read_start() {
  if (!has("V0")) return;
  const auto N = static_cast<std::size_t>(problem_.vocabulary());
  require_shape("V0", N, N);
  const RowMajor start = matrix("V0");
  for (Eigen::Index i = 0; i < start.rows(); ++i) {
    for (Eigen::Index j = 0; j < start.cols(); ++j) {
      if (std::isfinite(start(i, j))) continue;
      throw bad(entry("V0", i, j) + " is " + shortest(start(i, j)) +
                "; every entry must be finite");
    }
  }
  problem_.V0 = start;
}

/// A run's file keeps the labels on the dimension `token`, which its problem shares with its root.
/// They are an ornament: what is no list of N words is taken for another thing.
void Reader::read_labels() {
  for (const std::string& dimension : {inside("token"), std::string("token")}) {
    if (!file_.has_dataset(dimension)) continue;
    const std::optional<std::string> text = file_.text_attribute(dimension, "labels");
    if (!text) continue;
    std::vector<std::string> labels = split_labels(*text);
    if (labels.size() == static_cast<std::size_t>(problem_.vocabulary())) {
      problem_.labels = std::move(labels);
      return;
    }
  }
}

std::optional<std::int64_t> Reader::context_length() const {
  const std::optional<double> number = file_.number_attribute(group_, "context_length");
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
  const std::vector<std::size_t> shape = file_.shape(inside("Q_value"));
  require_shape("Q_value", shape.empty() ? 0 : shape[0], N);
  require_shape("Q_position", shape[0], N);
  const std::optional<std::int64_t> length = context_length();
  if (!length) {
    throw wrong("has no attribute context_length beside Q_value (a number, on " +
                (group_.empty() ? "the root" : "group " + group_) + ")");
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
        throw bad(entry("Q_position", i, k) + " is " + shortest(place) +
                  "; positions are whole numbers from 0 to " + std::to_string(*length - 1) +
                  " (context_length " + std::to_string(*length) + ")");
      }
      const auto whole = static_cast<std::int64_t>(place);
      const auto [first, is_new] = slot_of.try_emplace(whole, i);
      if (!is_new) {
        throw bad(entry("Q_position", i, k) + " is " + std::to_string(whole) + " like " +
                  entry("Q_position", first->second, k) +
                  "; the positions of a column must be distinct");
      }
      column.push_back({whole, value(i, k)});
    }
    set_column(Q, k, std::move(column));
  }
  require_columns_sum_to_one("Q_value", Q.weight.colwise().sum());
}

/// Calls visit(position, query, value) for each entry of the dense Q, row by row. The matrix may
/// be far larger than its non-zeros, so it is never held whole.
template <class Visit>
void Reader::for_each_dense_entry(Visit visit) const {
  const std::vector<std::size_t> shape = file_.shape(inside("Q"));
  const std::size_t rows = shape[0];
  const std::size_t columns = shape[1];
  const std::size_t block = std::max<std::size_t>(1, (std::size_t{1} << 20) / columns);
  std::vector<double> values(std::min(block, rows) * columns);
  for (std::size_t first = 0; first < rows; first += block) {
    const std::size_t count = std::min(block, rows - first);
    file_.read_rows(inside("Q"), {}, first, count, values.data());
    for (std::size_t i = 0; i < count * columns; ++i) {
      visit(static_cast<std::int64_t>(first + i / columns), static_cast<Eigen::Index>(i % columns),
            values[i]);
    }
  }
}

void Reader::read_dense() {
  const Eigen::Index N = problem_.vocabulary();
  const std::vector<std::size_t> shape = file_.shape(inside("Q"));
  require_shape("Q", shape.empty() ? 0 : shape[0], static_cast<std::size_t>(N));
  const auto length = static_cast<std::int64_t>(shape[0]);
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
                static_cast<std::size_t>(problem_.vocabulary()));
  // Both go through a column by ascending position: one cursor a column is enough.
  std::vector<Eigen::Index> next(static_cast<std::size_t>(problem_.vocabulary()), 0);
  for_each_dense_entry([&](std::int64_t position, Eigen::Index query, double value) {
    Eigen::Index& slot = next[static_cast<std::size_t>(query)];
    double sparse = 0;
    if (slot < Q.slots() && Q.position(slot, query) == position) sparse = Q.weight(slot++, query);
    // Written so that a NaN disagrees.
    if (std::abs(value - sparse) <= problem_tolerance) return;
    throw bad(entry("Q", position, query) + " is " + shortest(value) +
              ", but Q_value with Q_position says " + shortest(sparse) + "; the two must agree");
  });
}

Problem Reader::read() {
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
