#include "engine/status.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "text/text.hpp"

namespace popflow {

namespace {

constexpr std::array kWords = {"missing",    "complete",  "steady",      "diverged",
                               "step_limit", "underflow", "refused",     "stuck",
                               "stopped",    "running",   "interrupted", "failed"};
static_assert(kWords.size() == static_cast<std::size_t>(Status::failed) + 1);
constexpr std::size_t kWordsOfRuns = static_cast<std::size_t>(Status::stopped) + 1;

}  // namespace

std::string status_word(Status status) { return kWords[static_cast<std::size_t>(status)]; }

std::optional<Status> status_of_word(const std::string& word) {
  const auto* const found = std::find(kWords.begin(), kWords.end(), word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<Status>(found - kWords.begin());
}

bool is_unfinished(const std::string& word) {
  const std::optional<Status> status = status_of_word(word);
  return status && *status >= Status::running;
}

const std::vector<std::string>& run_status_words() {
  static const std::vector<std::string> words(kWords.begin(), kWords.begin() + kWordsOfRuns);
  return words;
}

Status status_of(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::reached:
      return Status::complete;
    case Outcome::Kind::steady:
      return Status::steady;
    case Outcome::Kind::diverged:
      return Status::diverged;
    case Outcome::Kind::step_limit:
      return Status::step_limit;
    case Outcome::Kind::underflow:
      return Status::underflow;
    case Outcome::Kind::stuck:
      return Status::stuck;
    case Outcome::Kind::stopped:
      return Status::stopped;
    case Outcome::Kind::interrupted:
      break;
  }
  return Status::interrupted;
}

Outcome::Kind outcome_kind(Status status) {
  for (const Outcome::Kind kind :
       {Outcome::Kind::reached, Outcome::Kind::steady, Outcome::Kind::diverged,
        Outcome::Kind::step_limit, Outcome::Kind::underflow, Outcome::Kind::stuck,
        Outcome::Kind::stopped})
    if (status_of(kind) == status) return kind;
  return Outcome::Kind::interrupted;
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

std::string StatusCounts::text() const { return text::counted(counts_, run_status_words()); }

}  // namespace popflow
