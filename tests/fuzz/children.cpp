// Lets children that look through a file tell which lines they executed: they end by _exit(),
// before the profile of coverage is written. Only where POPFLOW_FUZZ_CHILDREN is set, as each of
// them takes longer by it.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

extern "C" {

/// Weak, since the function exists only in builds with profiling.
__attribute__((weak)) int __llvm_profile_write_file();

void _exit(int code) {
  if (__llvm_profile_write_file != nullptr && std::getenv("POPFLOW_FUZZ_CHILDREN") != nullptr)
    (void)__llvm_profile_write_file();
  for (;;) syscall(SYS_exit_group, code);
}
}
