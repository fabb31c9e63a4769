#include "machine/heap.hpp"

#include <execinfo.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace popflow {

namespace {
constexpr int kReserve = 64 << 20;           // address space by which the heap grows
constexpr int kLargestOnHeap = 32 << 20;     // the largest value that the C library allows
constexpr std::size_t kAsked = 512 << 10;    // more than a fresh heap holds
constexpr std::uintptr_t kPage = 2U << 20U;  // size of a large page
}  // namespace

void use_large_pages_for_heap() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  // Keeps large arrays on the heap. Otherwise each array would be mapped separately, unmapped when
  // freed, and its pages would be faulted in anew.
  (void)mallopt(M_MMAP_THRESHOLD, kLargestOnHeap);
  (void)mallopt(M_TOP_PAD, kReserve);
  // A request for more memory than the heap has left makes the heap grow.
  const auto* const before = static_cast<char*>(sbrk(0));
  void* const asked = std::malloc(kAsked);
  const bool got = malloc_usable_size(asked) > 0;  // keeps the allocation from being optimised away
  const auto* const end = static_cast<char*>(sbrk(0));
  std::free(asked);
  if (!got || end <= before) return;  // memory is limited, or another allocator is in use
  const std::uintptr_t first =
      (reinterpret_cast<std::uintptr_t>(before) + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / kPage * kPage;
  if (first < last) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

bool memory_is_limited() {
  rlimit most{};
  return getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
}

void prepare_for_lack_of_memory() {
#if defined(__GLIBC__)
  void* caller = nullptr;
  if (memory_is_limited()) (void)backtrace(&caller, 1);
#endif
}

}  // namespace popflow
