// Symbols of glibc that Debian 12's headers, libstdc++ and libgcc use, and that glibc 2.28 lacks. Names are
// local to the program; libraries that it loads use their own.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// The linker's symbols of glibc do not say that these two are one variable. glibc fills the second.
extern char **environ, **__environ;

__attribute__((constructor)) static void unite(void) { environ = __environ; }

// glibc 2.32: whether the process has one thread only, which allows cheaper reference counts.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

typedef int Wait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);

// glibc 2.30: waits until a time of any clock, for std::condition_variable. Older versions wait by the
// real-time clock only, which may be set back: in short waits, whose ends are spurious wake-ups.
__attribute__((visibility("hidden"))) int pthread_cond_clockwait(pthread_cond_t* condition,
                                                                 pthread_mutex_t* mutex, clockid_t clock,
                                                                 const struct timespec* end) {
  Wait* own = NULL;
  *(void**)&own = dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (own != NULL) return own(condition, mutex, clock, end);
  const int64_t second = 1000000000, longest = second / 20;
  struct timespec now;
  clock_gettime(clock, &now);
  const int64_t left = (end->tv_sec - now.tv_sec) * second + (end->tv_nsec - now.tv_nsec);
  if (left <= 0) return ETIMEDOUT;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t until = now.tv_nsec + (left < longest ? left : longest);
  const struct timespec then = {now.tv_sec + until / second, until % second};
  const int result = pthread_cond_timedwait(condition, mutex, &then);
  return result == ETIMEDOUT && left > longest ? 0 : result;
}

// glibc 2.36: random bits, for std::random_device.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t bits;
  if (getentropy(&bits, sizeof bits) != 0) abort();
  return bits;
}

struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};

// Returns 1 if the object contains the address and has a table of frames, -1 if it has no table.
static int look(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  const struct Search* const search = data;
  uintptr_t frames = 0, start = 0, end = 0;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    const uintptr_t from = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = from;
    if (part->p_type == PT_LOAD && search->address >= from && search->address - from < part->p_memsz) {
      start = from;
      end = from + part->p_memsz;
    }
  }
  if (end == 0) return 0;
  if (frames == 0) return -1;
  search->found->dlfo_map_start = (void*)start;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_eh_frame = (void*)frames;
  return 1;
}

// glibc 2.35: finds the table of stack frames for an address, to unwind an exception.
__attribute__((visibility("hidden"))) int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {(uintptr_t)address, found};
  found->dlfo_flags = 0;
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
