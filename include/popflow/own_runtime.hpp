#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

/// The parts of the C++ runtime that a generated plug-in uses. With them a plug-in needs the C
/// library alone: it is loaded in a fraction of the time that the C++ library takes, and compilers
/// that would first have to compile their runtime (ziglang: 100 s) link it at once. model.hpp
/// includes this header where POPFLOW_OWN_RUNTIME is defined; a plug-in includes it in a single
/// source file, compiled with -fno-exceptions.

// Without exceptions, missing memory ends the program.
inline void* popflow_new(std::size_t size, std::size_t alignment) {
  void* found = nullptr;
  if (posix_memalign(&found, alignment, size) != 0) std::abort();
  return found;
}
void* operator new(std::size_t size) { return popflow_new(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return popflow_new(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#ifdef __GLIBCXX__
namespace std {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
void __throw_length_error(const char*) { abort(); }  // NOLINT
void __throw_bad_alloc() { abort(); }                // NOLINT
void __throw_bad_array_new_length() { abort(); }     // NOLINT
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#endif

// Names of the C++ ABI for Itanium and others, which compilers call.
// NOLINTBEGIN
extern "C" {

[[gnu::weak, gnu::visibility("hidden")]] void* __dso_handle = &__dso_handle;

/// Registers a destructor of a thread's variable; a function of the C library does so.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library);
int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
  return __cxa_thread_atexit_impl(destroy, object, library);
}

// Guards of local static variables. Byte 0: whether the variable is made; byte 1: whether a thread
// makes it.
int __cxa_guard_acquire(std::uint64_t* guard) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(guard);
  while (__atomic_load_n(bytes, __ATOMIC_ACQUIRE) == 0) {
    if (__atomic_exchange_n(bytes + 1, 1, __ATOMIC_ACQUIRE) == 0) {
      if (__atomic_load_n(bytes, __ATOMIC_ACQUIRE) == 0) return 1;
      __atomic_store_n(bytes + 1, 0, __ATOMIC_RELEASE);
      break;
    }
    sched_yield();
  }
  return 0;
}
void __cxa_guard_release(std::uint64_t* guard) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(guard);
  __atomic_store_n(bytes, 1, __ATOMIC_RELEASE);
  __atomic_store_n(bytes + 1, 0, __ATOMIC_RELEASE);
}
}
// NOLINTEND
