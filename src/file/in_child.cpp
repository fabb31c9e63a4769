#include "file/in_child.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "file/hdf5.hpp"
#include "popflow/error.hpp"

namespace popflow::hdf5 {

namespace {

using Clock = std::chrono::steady_clock;

/// Limit on the child's processor time, and on the parent's waiting, in seconds.
constexpr rlim_t kProcessorSeconds = 10;
constexpr auto kPatience = std::chrono::seconds(60);

/// A child that has used almost no processor time by then waits for a lock that another thread held
/// when it was forked; it is worth another try.
constexpr auto kFirstPatience = std::chrono::seconds(5);
constexpr double kNextToNothing = 0.05;  // seconds of processor time

/// Memory that the child may take beyond what it has when it starts: enough for some chunks, and a
/// bound for malformed files.
constexpr rlim_t kMemory = rlim_t{384} << 20;

// First byte that the child sends.
constexpr char kDone = '+';
constexpr char kRefused = '-';
constexpr char kRefusedInput = '<';

void limit(decltype(RLIMIT_CORE) resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(value, now.rlim_cur);
  setrlimit(resource, &now);
}

/// Sanitizers take the whole address space for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsOurs = false;
#else
constexpr bool kMemoryIsOurs = true;
#endif

/// Returns the size of this process's address space in bytes; 0 if unknown.
rlim_t memory_now() {
  const int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[64] = {};
  if (descriptor < 0 || ::read(descriptor, text, sizeof text - 1) <= 0) return 0;
  close(descriptor);
  return static_cast<rlim_t>(std::strtoull(text, nullptr, 10)) *
         static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// Isolates a process that `parent` has just forked: it ends with its parent, and ends silently.
void isolate(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before that, so no signal will come
  // Default handlers: a crash is reported by the parent, not by a handler such as a test
  // framework's.
  for (const int fatal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU}) {
    signal(fatal, SIG_DFL);
  }
  // The parent handles the signals that interrupt the program.
  for (const int other : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(other, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a failed write is an ordinary failure
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, kProcessorSeconds);
  if (const rlim_t now = memory_now(); kMemoryIsOurs && now > 0) limit(RLIMIT_AS, now + kMemory);
  // Discards the C library's message about a damaged heap.
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  }
  forget_lock();
  // Fills allocated and freed memory with a pattern: a read of such memory then finds wild pointers
  // and sizes, if the library keeps no memory for itself, and crashes reliably.
  mallopt(M_PERTURB, 0xA5);
  H5set_free_list_limits(0, 0, 0, 0, 0, 0);
}

[[noreturn]] void be_child(pid_t parent, int answer, const std::function<void()>& work) {
  isolate(parent);
  std::string said(1, kDone);
  try {
    work();
  } catch (const InputError& refusal) {
    said = kRefusedInput + std::string(refusal.what());
  } catch (const std::exception& refusal) {
    said = kRefused + std::string(refusal.what());
  } catch (...) {
    _exit(1);
  }
  // Less than a pipe's capacity, so that the text is sent in one write.
  const std::size_t bytes = std::min<std::size_t>(said.size(), 4000);
  _exit(::write(answer, said.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
}

/// Reads until the other end is closed or patience ends; returns whether the other end was closed.
bool listen(int descriptor, Clock::duration patience, std::string& said) {
  const Clock::time_point end = Clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t got = ::read(descriptor, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    said.append(bytes, static_cast<std::size_t>(got));
  }
}

Ended judge(const std::string& said, bool ended, int status, const rusage& used) {
  if (said.starts_with(kDone)) return {Ended::How::done, ""};
  for (const char refused : {kRefused, kRefusedInput})
    if (said.starts_with(refused))
      return {Ended::How::refused, said.substr(1), refused == kRefusedInput};
  if (!ended) {
    const bool worked = used.ru_utime.tv_sec + used.ru_stime.tv_sec > 0;
    return {worked ? Ended::How::overtime : Ended::How::not_begun, ""};
  }
  const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  return {late ? Ended::How::overtime : Ended::How::crashed, ""};
}

/// Returns the processor time that a process has used, in seconds.
double processor_time(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// With `must_begin`, ends a child that has hardly begun after a while.
Ended try_in_child(const std::function<void()>& work, bool must_begin) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);  // the process may have few descriptors
    be_child(parent, ends[1], work);
  }
  close(ends[1]);
  std::string said;
  bool ended = true;
  if (child > 0) {
    ended = listen(ends[0], kFirstPatience, said) ||
            (!(must_begin && processor_time(child) < kNextToNothing) &&
             listen(ends[0], kPatience - kFirstPatience, said));
    if (!ended) kill(child, SIGKILL);
  }
  close(ends[0]);
  if (child < 0) return {};
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  return judge(said, ended, status, used);
}

}  // namespace

Ended in_child(const std::function<void()>& work) {
  const Ended first = try_in_child(work, true);
  return first.how == Ended::How::not_begun ? try_in_child(work, false) : first;
}

}  // namespace popflow::hdf5
