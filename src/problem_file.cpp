#include "popflow/problem_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "popflow/parameter.hpp"

namespace popflow {

namespace {

/// Guess about the mistake of the program that wrote the file, from the value of a sum that should
/// be 1.
std::string hint_of_sum(double sum) {
  constexpr double kSingle = 1e-5;
  return std::abs(sum - 1) < kSingle
             ? " (are these numbers of single precision? Normalise them in double)"
             : "";
}

}  // namespace

std::string entry_name(const std::string& name, Eigen::Index row, Eigen::Index column) {
  return name + "[" + std::to_string(row) + "," + std::to_string(column) + "]";
}

std::string entry_name(const std::string& name, Eigen::Index i) {
  return name + "[" + std::to_string(i) + "]";
}

const char* probability_fault(double value) {
  if (!std::isfinite(value)) return "; every entry must be finite";
  return value < 0 ? "; no entry may be negative" : nullptr;
}

ProblemFile::ProblemFile(const std::string& path, const std::vector<std::string>& any_of)
    : file_(path) {
  if (kind_of(file_) == FileKind::sweep)
    throw wrong(
        "holds a sweep, whose cells have different problems; give the file of a run: "
        "'popflow info " +
        path + " --cell ...' prints the command for the run of a cell");
  // The root of a run's file holds the fields of its trajectory, which may have the same names.
  const bool is_run = file_.text_attribute("", "format") == "popflow";
  std::vector<std::string> groups = {"", "problem"};
  if (is_run) groups = {"problem"};
  // A comparison holds the problem in each of its groups.
  if (const auto of_all = file_.text_attribute("", "problem")) groups = {*of_all};
  for (const std::string& group : groups) {
    group_ = group;
    if (std::any_of(any_of.begin(), any_of.end(), [&](const auto& name) { return has(name); }))
      return;
  }
  std::string names;
  for (const std::string& name : any_of) names += (names.empty() ? "" : " or ") + name;
  throw wrong("holds no dataset " + names +
              (is_run ? ", in its group problem" : ", neither at its root nor in a group problem"));
}

std::string ProblemFile::inside(const std::string& name) const {
  return group_.empty() ? name : group_ + "/" + name;
}

bool ProblemFile::has(const std::string& name) const { return file_.has_dataset(inside(name)); }

std::vector<std::size_t> ProblemFile::shape(const std::string& name) const {
  return file_.shape(inside(name));
}

void ProblemFile::refuse_misspelt(const std::vector<std::string>& known) const {
  const auto letters = [](const std::string& name) {
    std::string bare;
    for (const char letter : name)
      if (letter != '_' && letter != '-')
        bare += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return bare;
  };
  for (const std::string& found : file_.members(group_.empty() ? "/" : group_)) {
    if (std::find(known.begin(), known.end(), found) != known.end()) continue;
    for (const std::string& name : known)
      if (letters(found) == letters(name) && !has(name))
        throw wrong("holds " + found + ", a name that the system does not know; did you mean '" +
                    name + "'?");
  }
}

InputError ProblemFile::bad(const std::string& what) const {
  return InputError(file_.path() + ": " + what);
}

InputError ProblemFile::wrong(const std::string& what) const {
  return InputError(file_.path() + " " + what);
}

ProblemFile::Matrix ProblemFile::matrix(const std::string& name) const {
  const std::vector<std::size_t> size = shape(name);
  if (size.size() != 2) throw bad(name + " has shape " + in_words(size) + "; it must be a matrix");
  const DataArray array = file_.read(inside(name));
  return Eigen::Map<const Matrix>(array.values.data(), static_cast<Eigen::Index>(size[0]),
                                  static_cast<Eigen::Index>(size[1]));
}

ProblemFile::Matrix ProblemFile::matrix(const std::string& name, std::size_t rows,
                                        std::size_t columns, const std::string& because) const {
  require_shape(name, rows, columns, because);
  return matrix(name);
}

Eigen::VectorXd ProblemFile::vector(const std::string& name) const {
  const std::vector<std::size_t> size = shape(name);
  const auto long_axes = std::count_if(size.begin(), size.end(), [](auto n) { return n != 1; });
  if (size.empty() || size.size() > 2 || long_axes > 1)
    throw bad(name + " has shape " + in_words(size) + "; it must be a vector");
  const DataArray array = file_.read(inside(name));
  return Eigen::Map<const Eigen::VectorXd>(array.values.data(),
                                           static_cast<Eigen::Index>(array.values.size()));
}

Eigen::VectorXd ProblemFile::vector(const std::string& name, std::size_t size,
                                    const std::string& because) const {
  const std::vector<std::size_t> found = shape(name);
  const auto long_axes = std::count_if(found.begin(), found.end(), [](auto n) { return n != 1; });
  std::size_t elements = 1;
  for (const std::size_t n : found) elements *= n;
  if (found.empty() || found.size() > 2 || long_axes > 1 || elements != size)
    throw bad(name + " has shape " + in_words(found) + "; it must be (" + std::to_string(size) +
              "), as " + because);
  return vector(name);
}

void ProblemFile::require_shape(const std::string& name, std::size_t rows, std::size_t columns,
                                const std::string& because) const {
  const std::vector<std::size_t> found = shape(name);
  const std::vector<std::size_t> expected = {rows, columns};
  if (found != expected)
    throw bad(name + " has shape " + in_words(found) + "; it must be " + in_words(expected) +
              ", as " + because +
              (found.size() == 2 && found[0] == columns && found[1] == rows
                   ? ": it seems to be transposed"
                   : ""));
}

void ProblemFile::require_finite(const std::string& name,
                                 const Eigen::Ref<const Matrix>& values) const {
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < values.cols(); ++j) {
      if (std::isfinite(values(i, j))) continue;
      throw bad((values.cols() == 1 ? entry_name(name, i) : entry_name(name, i, j)) + " is " +
                shortest(values(i, j)) + "; every entry must be finite");
    }
  }
}

void ProblemFile::require_probability(const std::string& name, Eigen::Index row,
                                      Eigen::Index column, double value) const {
  if (const char* reason = probability_fault(value))
    throw bad(entry_name(name, row, column) + " is " + shortest(value) + reason);
}

void ProblemFile::require_columns_sum_to_one(const std::string& name,
                                             const Eigen::RowVectorXd& sums) const {
  for (Eigen::Index k = 0; k < sums.size(); ++k) {
    if (std::abs(sums[k] - 1) <= problem_tolerance) continue;
    throw bad("column " + std::to_string(k) + " of " + name + " sums to " + shortest(sums[k]) +
              "; every column must sum to 1 within " + shortest(problem_tolerance) +
              hint_of_sum(sums[k]));
  }
}

void ProblemFile::require_columns_of_probabilities(const std::string& name,
                                                   const Matrix& values) const {
  for (Eigen::Index i = 0; i < values.rows(); ++i)
    for (Eigen::Index j = 0; j < values.cols(); ++j) require_probability(name, i, j, values(i, j));
  const auto are_one = [](const auto& sums) {
    return ((sums.array() - 1).abs() <= problem_tolerance).all();
  };
  const Eigen::RowVectorXd sums = values.colwise().sum();
  if (values.rows() == values.cols() && !are_one(sums) && are_one(values.rowwise().sum()))
    throw bad("the rows of " + name + " sum to 1, but not its columns (column 0: " +
              shortest(sums[0]) + "): it seems to be transposed; columns must sum to 1");
  require_columns_sum_to_one(name, sums);
}

void ProblemFile::require_distribution(const std::string& name,
                                       const Eigen::VectorXd& values) const {
  for (Eigen::Index i = 0; i < values.size(); ++i)
    if (const char* reason = probability_fault(values[i]))
      throw bad(entry_name(name, i) + " is " + shortest(values[i]) + reason);
  if (std::abs(values.sum() - 1) > problem_tolerance)
    throw bad(name + " sums to " + shortest(values.sum()) + "; it must sum to 1 within " +
              shortest(problem_tolerance) + hint_of_sum(values.sum()));
}

}  // namespace popflow
