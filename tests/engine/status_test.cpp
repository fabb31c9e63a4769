// Numbers and words of the status, which are common to all files.

#include "engine/status.hpp"

#include "support/catch.hpp"

namespace popflow::test {

TEST_CASE("a status has the same number and word in all files", "[fast][engine]") {
  // Existing files contain these numbers, so they must never change.
  CHECK(run_status_words() == std::vector<std::string>{"missing", "complete", "steady", "diverged",
                                                       "step_limit", "underflow", "refused",
                                                       "stuck", "stopped"});
  for (int i = 0; i <= static_cast<int>(Status::failed); ++i) {
    const auto status = static_cast<Status>(i);
    CHECK(status_of_word(status_word(status)) == status);
  }
  CHECK_FALSE(status_of_word("").has_value());
  CHECK_FALSE(status_of_word("finished").has_value());
}

TEST_CASE("outcomes and statuses correspond", "[fast][engine]") {
  using Kind = Outcome::Kind;
  for (const Kind kind : {Kind::reached, Kind::steady, Kind::diverged, Kind::step_limit,
                          Kind::underflow, Kind::stuck, Kind::stopped, Kind::interrupted})
    CHECK(outcome_kind(status_of(kind)) == kind);
  for (const Status status : {Status::missing, Status::refused, Status::running, Status::failed})
    CHECK(outcome_kind(status) == Kind::interrupted);
  for (const char* word : {"running", "interrupted", "failed"}) CHECK(is_unfinished(word));
  for (const char* word : {"complete", "steady", "diverged", "stuck", "stopped", "missing", ""})
    CHECK_FALSE(is_unfinished(word));
}

}  // namespace popflow::test
