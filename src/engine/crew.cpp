#include "engine/crew.hpp"

#include <algorithm>
#include <chrono>

namespace popflow {

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds of work that a thread claims at a time, and seconds after which it gives back the rest.
constexpr double kClaim = 0.005;
constexpr double kPatience = 0.02;
constexpr std::uint64_t kMostRuns = 4096;

/// Claims and computes runs until none are left. `fair` is the number of runs of each thread if
/// they are shared equally.
void work(Exchange& exchange, RunComputer& computer, std::uint64_t fair) {
  // Runs that move together are claimed together, unless other threads would have nothing to do.
  const auto together = [&] { return std::min<std::uint64_t>(computer.together(), fair); };
  std::uint64_t most = std::max<std::uint64_t>(1, together());
  while (const auto range = exchange.claim(most)) {
    const Clock::time_point begin = Clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    Batch batch = computer.compute(*range, [&] { return seconds() <= kPatience; });
    exchange.give_back({batch.runs.end(), range->end() - batch.runs.end()});
    const double each = seconds() / static_cast<double>(batch.runs.count + 1);
    most = static_cast<std::uint64_t>(
        std::clamp(kClaim / std::max(each, 1e-9), 1.0,
                   static_cast<double>(std::min(kMostRuns, 4 * most + 4))));
    most = std::max(most, together());
    exchange.deliver(std::move(batch));
  }
}

}  // namespace

void compute_all(Exchange& exchange, const Crew& crew, bool shared) {
  const unsigned threads = crew.workers.threads();
  const std::uint64_t fair = std::max<std::uint64_t>(1, crew.runs / threads);
  const auto guarded_work = [&](Workers& workers) {
    try {
      work(exchange, *crew.computer(workers, exchange), fair);
    } catch (...) {
      exchange.stop();
      throw;
    }
  };
  if (shared || threads == 1) return guarded_work(crew.workers);
  crew.workers.run(threads, [&](std::size_t) {
    Workers alone(1);
    guarded_work(alone);
  });
}

}  // namespace popflow
