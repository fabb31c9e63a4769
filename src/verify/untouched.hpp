#pragma once

#include <cstdint>
#include <cstring>

namespace popflow::verification {

/// Bit pattern of a NaN that no arithmetic produces; a value that still has it was not written.
inline constexpr std::uint64_t kUntouched = 0x7ff8dead'beef0123;

inline double untouched() {
  double mark = 0;
  std::memcpy(&mark, &kUntouched, sizeof mark);
  return mark;
}

inline bool is_untouched(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits == kUntouched;
}

}  // namespace popflow::verification
