#include "file/crash_guard.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "popflow/error.hpp"

namespace popflow::hdf5 {

namespace {

constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// Sanitizers report more about a crash than this handler, which is then left out.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCrashesAreOurs = false;
#else
constexpr bool kCrashesAreOurs = true;
#endif

// Set before the signal handlers, and under the lock.
const std::string* current = nullptr;
pthread_t guarded_thread;
std::array<struct sigaction, kSignals.size()> before;

void restore() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

void say(const char* text, std::size_t bytes) {
  // nothing can be done if standard error is closed
  if (write(STDERR_FILENO, text, bytes) < 0) return;
}

extern "C" void popflow_on_crash(int /*signal*/) {
  if (current == nullptr || pthread_equal(pthread_self(), guarded_thread) == 0) {
    restore();  // returning repeats the crash with the default handler
    return;
  }
  constexpr char kStart[] = "popflow: error: ";
  say(kStart, sizeof kStart - 1);
  say(current->data(), current->size());
  say("\n", 1);
  _exit(static_cast<int>(ExitCode::input));
}

}  // namespace

CrashGuard::CrashGuard(const std::string& sentence) : around_(std::exchange(current, &sentence)) {
  if (!kCrashesAreOurs || around_ != nullptr) return;
  guarded_thread = pthread_self();
  struct sigaction action {};
  action.sa_handler = popflow_on_crash;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before[i]);
}

CrashGuard::~CrashGuard() {
  if (kCrashesAreOurs && around_ == nullptr) restore();
  current = around_;
}

std::string crash_sentence(const std::string& path, const char* done) {
  return "the file '" + path + "' cannot be " + done +
         ": the HDF5 library crashed on it (it is damaged or malformed)";
}

}  // namespace popflow::hdf5
