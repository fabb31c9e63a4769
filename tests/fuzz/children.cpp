// Makes child processes that examine a file write the coverage profile before they end by _exit(),
// which would skip it. Only active if POPFLOW_FUZZ_CHILDREN is set, as it slows each child down.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

extern "C" {

/// Weak, since only builds with profiling have this function.
__attribute__((weak)) int __llvm_profile_write_file();

void _exit(int code) {
  if (__llvm_profile_write_file != nullptr && std::getenv("POPFLOW_FUZZ_CHILDREN") != nullptr)
    (void)__llvm_profile_write_file();
  for (;;) syscall(SYS_exit_group, code);
}
}
