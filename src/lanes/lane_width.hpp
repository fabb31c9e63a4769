#pragma once

#include <cstddef>

#include "popflow/widest.hpp"

namespace popflow {

/// Numbers per vector register on this machine, for BasicPack: 8, 4 or 2.
inline std::size_t lane_width() { return has_avx512() ? 8 : has_avx2() ? 4 : 2; }

// in_vectors<width>(work) calls work() and inlines all functions that it calls, compiled for
// vectors of `width` numbers. Use each lambda with one width only, so that gcc inlines it.

template <std::size_t width, class Work>
requires(width == 8) [[gnu::flatten]] POPFLOW_AVX512 void in_vectors(const Work& work) { work(); }
template <std::size_t width, class Work>
requires(width == 4) [[gnu::flatten]] POPFLOW_AVX2 void in_vectors(const Work& work) { work(); }
template <std::size_t width, class Work>
requires(width == 2) [[gnu::flatten]] void in_vectors(const Work& work) { work(); }

/// Calls work<width>() through in_vectors(), with the vector width of this machine.
template <class Work>
void in_widest_vectors(const Work& work) {
  switch (lane_width()) {
    case 8:
      return in_vectors<8>([&] { work.template operator()<8>(); });
    case 4:
      return in_vectors<4>([&] { work.template operator()<4>(); });
    default:
      return in_vectors<2>([&] { work.template operator()<2>(); });
  }
}

}  // namespace popflow
