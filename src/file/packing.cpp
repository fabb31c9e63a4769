#include "file/packing.hpp"

#include <algorithm>

namespace popflow::hdf5 {

bool Packing::plain() const {
  return scale == 1 && offset == 0 && missing.empty() && least == -kInfinity && most == kInfinity &&
         wrap == 0;
}

double Packing::wrapped(double stored) const {
  if (wrap == 0) return stored;
  if (stored < wrap_from) return stored + wrap;
  return stored >= wrap_from + wrap ? stored - wrap : stored;
}

void Packing::unpack(std::span<double> numbers) const {
  for (double& number : numbers) {
    number = wrapped(number);
    const bool none = number < least || number > most ||
                      std::find(missing.begin(), missing.end(), number) != missing.end();
    number = none ? std::numeric_limits<double>::quiet_NaN() : number * scale + offset;
  }
}

}  // namespace popflow::hdf5
