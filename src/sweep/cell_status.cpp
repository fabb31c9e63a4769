#include "sweep/cell_status.hpp"

#include <array>
#include <numeric>
#include <string_view>

#include "text/text.hpp"

namespace popflow {

const std::vector<std::string>& cell_status_words() {
  constexpr std::array<std::string_view, static_cast<std::size_t>(CellStatus::stuck) + 1> all = {
      "missing", "complete", "steady", "diverged", "step_limit", "underflow", "refused", "stuck"};
  static_assert(all.back() == "stuck");  // a word for each
  static const std::vector<std::string> words(all.begin(), all.end());
  return words;
}

CellStatus cell_status(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
      return CellStatus::complete;
    case Outcome::Kind::steady:
      return CellStatus::steady;
    case Outcome::Kind::diverged:
      return CellStatus::diverged;
    case Outcome::Kind::step_limit:
      return CellStatus::step_limit;
    case Outcome::Kind::underflow:
      return CellStatus::underflow;
    case Outcome::Kind::stuck:
      return CellStatus::stuck;
    case Outcome::Kind::interrupted:
      break;
  }
  return CellStatus::missing;
}

bool ended_well(CellStatus status) {
  return status == CellStatus::complete || status == CellStatus::steady;
}

StatusCounts::StatusCounts(const DataFile& file) : StatusCounts() {
  for (const std::int64_t status : file.read("status").integers) add(status);
}

void StatusCounts::add(std::int64_t status) {
  if (status >= 0 && status < static_cast<std::int64_t>(counts_.size()))
    ++counts_[static_cast<std::size_t>(status)];
}

std::uint64_t StatusCounts::all() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::string StatusCounts::text() const { return text::counted(counts_, cell_status_words()); }

}  // namespace popflow
