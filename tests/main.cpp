// Catch's own implementation. It has its own file because it compiles slowly and rarely changes.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"
#include "support/skip.hpp"

/// Returns 77, which CTest takes for "skipped", if no test case failed and at least one was
/// skipped. Catch returns the number of failures, so 77 failures must not be returned as 77.
int main(int count, char** words) {
  if (Catch::Session().run(count, words) != 0) return 1;
  return popflow::test::was_skipped() ? 77 : 0;
}
