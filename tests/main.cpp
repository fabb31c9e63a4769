// Catch's own implementation, alone in a file since it takes long to compile and rarely changes.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"
#include "support/skip.hpp"

/// Ends with 77, which CTest takes for "skipped", if no test case failed and one was skipped. Catch
/// counts failures, and 77 of them are failures.
int main(int count, char** words) {
  if (Catch::Session().run(count, words) != 0) return 1;
  return popflow::test::was_skipped() ? 77 : 0;
}
