#include "engine/interrupt.hpp"

#include <time.h>

#include <atomic>
#include <cstdint>

namespace popflow {

namespace {
std::atomic<int> noted = 0;  // worker threads read it
std::atomic<std::int64_t> when = 0;
static_assert(std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may take no lock");

/// Time within which two signals count as one request: `timeout` and terminals send a signal both
/// to the process and to its group.
constexpr std::int64_t kAtOnce = 1'000'000'000;  // nanoseconds

void note(int signal) {
  timespec clock{};
  clock_gettime(CLOCK_MONOTONIC, &clock);
  const std::int64_t now = clock.tv_sec * std::int64_t{1'000'000'000} + clock.tv_nsec;
  if (noted.load(std::memory_order_relaxed) == 0) {
    when.store(now, std::memory_order_relaxed);
    noted.store(signal, std::memory_order_relaxed);
  } else if (now - when.load(std::memory_order_relaxed) > kAtOnce) {
    // The signal is delivered once this handler returns.
    std::signal(signal, SIG_DFL);
    (void)raise(signal);
  }
}

/// Whether hangup was already ignored when the program began, as under nohup. If so, it stays
/// ignored.
bool ignores_hangup() {
  static const bool ignores = [] {
    struct sigaction present {};
    return sigaction(SIGHUP, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
  }();
  return ignores;
}
}  // namespace

InterruptGuard::InterruptGuard() {
  noted = 0;
  struct sigaction noting {};
  noting.sa_handler = note;
  sigemptyset(&noting.sa_mask);
  const bool keeps_hangup = ignores_hangup();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const bool kept = kSignals[i] == SIGHUP && keeps_hangup;
    sigaction(kSignals[i], kept ? nullptr : &noting, &before_[i]);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int InterruptGuard::signal() { return noted.load(std::memory_order_relaxed); }

ExitCode interrupted_code() {
  if (InterruptGuard::signal() == SIGHUP) return ExitCode::hung_up;
  return InterruptGuard::signal() == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

void throw_if_interrupted() {
  if (InterruptGuard::signal() != 0) throw Interrupted{};
}

}  // namespace popflow
