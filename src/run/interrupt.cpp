#include "run/interrupt.hpp"

#include <csignal>

namespace popflow {

namespace {
volatile std::sig_atomic_t noted = 0;
void note(int signal) { noted = signal; }
void install(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}
}  // namespace

InterruptGuard::InterruptGuard() {
  noted = 0;
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then a failed write, with its reason
  install(note, static_cast<int>(SA_RESETHAND));
}

InterruptGuard::~InterruptGuard() { install(SIG_DFL, 0); }

int InterruptGuard::signal() { return noted; }

}  // namespace popflow
