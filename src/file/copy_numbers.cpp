#include "file/copy_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "file/structure.hpp"

namespace popflow {

namespace {

/// Numbers copied at a time.
constexpr std::size_t kPiece = std::size_t{1} << 20;

template <class Number>
void copy_as(const StoredFile& from, const Numbers& there, TrajectoryFile& to, const Numbers& here,
             std::size_t count, const std::function<void()>& between) {
  std::vector<Number> piece(std::min(count, kPiece));
  for (std::size_t done = 0; done < count; done += kPiece) {
    between();
    const std::size_t now = std::min(kPiece, count - done);
    from.read(there.variable, there.first + done, now, piece.data());
    to.write(here.variable, here.first + done, std::span<const Number>(piece.data(), now));
  }
}

}  // namespace

void copy_numbers(const StoredFile& from, const Numbers& there, TrajectoryFile& to,
                  const Numbers& here, std::size_t count, NumberType type,
                  const std::function<void()>& between) {
  switch (type) {
    case NumberType::float64:
      return copy_as<double>(from, there, to, here, count, between);
    case NumberType::int64:
      return copy_as<std::int64_t>(from, there, to, here, count, between);
    case NumberType::int8:
      return copy_as<std::int8_t>(from, there, to, here, count, between);
  }
}

bool same_numbers(const StoredFile& a, const Numbers& in_a, const StoredFile& b,
                  const Numbers& in_b, std::size_t count, NumberType type,
                  const std::function<void()>& between) {
  const std::size_t bytes = bytes_of(type);
  std::vector<char> one(std::min(count, kPiece) * bytes), two(one.size());
  for (std::size_t done = 0; done < count; done += kPiece) {
    between();
    const std::size_t now = std::min(kPiece, count - done);
    a.read(in_a.variable, in_a.first + done, now, one.data());
    b.read(in_b.variable, in_b.first + done, now, two.data());
    if (std::memcmp(one.data(), two.data(), now * bytes) != 0) return false;
  }
  return true;
}

}  // namespace popflow
