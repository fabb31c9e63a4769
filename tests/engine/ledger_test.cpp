// Ledger of the runs that remain to be computed.

#include "engine/ledger.hpp"

#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace popflow::test {
namespace {

void check_claim(Ledger& ledger, std::uint64_t most, std::uint64_t first, std::uint64_t count) {
  const auto stretch = ledger.claim(most);
  REQUIRE(stretch);
  CHECK(stretch->first == first);
  CHECK(stretch->count == count);
}

TEST_CASE("claims are in order and have the requested size", "[fast][sweep]") {
  Ledger ledger;
  CHECK_FALSE(ledger.claim(1));
  ledger.add({0, 10});
  CHECK(ledger.left() == 10);
  check_claim(ledger, 3, 0, 3);
  check_claim(ledger, 0, 3, 1);  // a claim has at least one run
  check_claim(ledger, 100, 4, 6);
  CHECK(ledger.left() == 0);
  CHECK_FALSE(ledger.claim(1));
}

TEST_CASE("returned blocks are reused first and merge with their neighbours", "[fast][sweep]") {
  Ledger ledger;
  ledger.add({0, 100});
  check_claim(ledger, 10, 0, 10);
  check_claim(ledger, 10, 10, 10);
  ledger.give_back({5, 5});
  ledger.give_back({17, 3});  // merges with the following block
  CHECK(ledger.left() == 88);
  check_claim(ledger, 100, 5, 5);
  ledger.give_back({5, 0});  // returns no run
  ledger.give_back({5, 5});
  ledger.give_back({10, 7});  // fills the gap and merges with both neighbours
  check_claim(ledger, 1000, 5, 95);
  CHECK(ledger.left() == 0);
  CHECK_FALSE(ledger.claim(1));
}

TEST_CASE("blocks with gaps between them are not merged", "[fast][sweep]") {
  Ledger ledger;
  ledger.add({20, 2});
  ledger.add({3, 1});
  ledger.add({10, 5});
  CHECK(ledger.left() == 8);
  check_claim(ledger, 100, 3, 1);
  check_claim(ledger, 100, 10, 5);
  check_claim(ledger, 100, 20, 2);
}

TEST_CASE("threads claim every run once", "[fast][sweep]") {
  constexpr std::uint64_t kRuns = 20000;
  Ledger ledger;
  ledger.add({0, kRuns});
  std::vector<std::vector<std::uint64_t>> claimed(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < claimed.size(); ++i)
    threads.emplace_back([&, i] {
      for (std::uint64_t round = 0;; ++round) {
        const auto stretch = ledger.claim(1 + round % 7);
        if (!stretch) return;
        // Keep half of the block and return the rest.
        const std::uint64_t kept = (stretch->count + 1) / 2;
        for (std::uint64_t run = 0; run < kept; ++run) claimed[i].push_back(stretch->first + run);
        ledger.give_back({stretch->first + kept, stretch->count - kept});
      }
    });
  for (std::thread& thread : threads) thread.join();
  // Claim blocks that were returned after the other threads had ended.
  while (const auto stretch = ledger.claim(100))
    for (std::uint64_t run = 0; run < stretch->count; ++run)
      claimed[0].push_back(stretch->first + run);
  std::vector<int> times(kRuns);
  for (const auto& runs : claimed)
    for (const std::uint64_t run : runs) ++times[run];
  CHECK(std::count(times.begin(), times.end(), 1) == static_cast<std::ptrdiff_t>(kRuns));
}

}  // namespace
}  // namespace popflow::test
