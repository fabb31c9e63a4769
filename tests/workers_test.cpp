#include "popflow/workers.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using popflow::Workers;

namespace {
/// Counts how often each of many tasks was done.
std::vector<int> counts(Workers& workers, std::size_t tasks) {
  std::vector<std::atomic<int>> done(tasks);
  workers.run(tasks, [&](std::size_t task) { ++done[task]; });
  return {done.begin(), done.end()};
}
}  // namespace

TEST_CASE("Each task of many short jobs is done once, by any number of threads", "[fast]") {
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    Workers workers(threads);
    bool once = true;
    for (std::size_t job = 0; job < 5000; ++job) {
      const std::size_t tasks = job % 7 * (job % 11);
      if (counts(workers, tasks) != std::vector<int>(tasks, 1)) once = false;
    }
    CHECK(once);
  }
}

TEST_CASE("A job ends when its last task ends, not before", "[fast]") {
  Workers workers(4);
  for (int job = 0; job < 20; ++job) {
    std::atomic<int> over = 0;
    workers.run(8, [&](std::size_t task) {
      std::this_thread::sleep_for(std::chrono::microseconds(200 * task));
      ++over;
    });
    CHECK(over == 8);
  }
}

TEST_CASE("A task's exception reaches the caller, and the pool can still be used", "[fast]") {
  Workers workers(3);
  for (int job = 0; job < 500; ++job) {
    std::atomic<int> done = 0;
    CHECK_THROWS_WITH(workers.run(50,
                                  [&](std::size_t task) {
                                    if (task % 5 == 4) throw std::runtime_error("task");
                                    ++done;
                                  }),
                      "task");
    CHECK(done < 50);
    CHECK(counts(workers, 9) == std::vector<int>(9, 1));
  }
}

TEST_CASE("Several threads may use one pool: all tasks of each thread are done", "[fast]") {
  Workers workers(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (std::size_t job = 0; job < 5000; ++job) {
        const std::size_t tasks = 2 + (caller + job) % 7;
        if (counts(workers, tasks) != std::vector<int>(tasks, 1)) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("A task may call the pool that it runs on", "[fast]") {
  Workers workers(2);
  std::atomic<int> inner = 0;
  workers.run(6, [&](std::size_t) { workers.run(7, [&](std::size_t) { ++inner; }); });
  CHECK(inner == 42);
}
