// Library for LD_PRELOAD that disturbs the program at an exact call. POPFLOW_FAULT says how:
//
//   process NUMBER CALL   send the program this signal just before this call that changes files
//   group NUMBER CALL     send the signal to its group of processes
//   threads COUNT         let this many threads start, and refuse the others
//
// Calls that change files are counted from 1, those of forked processes too. The count is stored in
// a file of 8 bytes that POPFLOW_FAULT_COUNT names. Programs that the program executes are left
// alone.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Fault {
  int signal = 0;
  std::uint64_t call = 0;
  std::int64_t threads = -1;                    ///< negative: no limit
  pid_t target = 0;                             ///< negative: the process group
  std::atomic<std::uint64_t>* calls = nullptr;  ///< shared with forked processes
};

std::atomic<std::int64_t> started{0};
Fault fault;

__attribute__((constructor)) void prepare() {
  unsetenv("LD_PRELOAD");
  if (const char* const text = std::getenv("POPFLOW_FAULT")) {
    unsigned long long call = 0;
    long long threads = 0;
    if (std::sscanf(text, "process %d %llu", &fault.signal, &call) == 2) fault.target = getpid();
    if (std::sscanf(text, "group %d %llu", &fault.signal, &call) == 2) fault.target = -getpgrp();
    if (std::sscanf(text, "threads %lld", &threads) == 1) fault.threads = threads;
    fault.call = call;
  }
  if (const char* const path = std::getenv("POPFLOW_FAULT_COUNT")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void* const shared =
        mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) fault.calls = static_cast<std::atomic<std::uint64_t>*>(shared);
  }
}

/// Counts a call that changes files.
void count() {
  if (fault.calls == nullptr) return;
  if (++*fault.calls == fault.call && fault.target != 0) kill(fault.target, fault.signal);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  count();
  return real(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  count();
  return real(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off_t at) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite64");
  count();
  return real(file, bytes, size, at);
}

int fsync(int file) {
  static auto* const real = next<int(int)>("fsync");
  count();
  return real(file);
}

int ftruncate(int file, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  count();
  return real(file, size);
}

int ftruncate64(int file, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate64");
  count();
  return real(file, size);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  count();
  return real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  count();
  return real(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("unlink");
  count();
  return real(path);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* with) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = next<Create>("pthread_create");
  if (fault.threads >= 0 && started++ >= fault.threads) return EAGAIN;
  return real(thread, attributes, run, with);
}

}  // extern "C"
