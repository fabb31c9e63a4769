#include "random/stream_normals.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "popflow/random.hpp"
#include "support/catch.hpp"

using namespace popflow;

TEST_CASE("normals drawn in blocks agree with their stream", "[fast][noise][random]") {
  for (const std::size_t count : {0, 1, 2, 63, 64, 65, 5000}) {
    CAPTURE(count);
    const PhiloxKey key(7, Purpose::noise, 3, (std::uint64_t{1} << 40) + 5);
    std::vector<double> together(count);
    write_stream_normals(key, together);
    RandomStream stream(7, Purpose::noise, 3, (std::uint64_t{1} << 40) + 5);
    double furthest = 0;
    for (const double one : together)
      furthest = std::max(furthest, std::abs(one - stream.normal()));
    CHECK(furthest <= 2e-15);
  }
}

TEST_CASE("normals do not depend on how many are drawn", "[fast][noise][random]") {
  const PhiloxKey key(1, Purpose::noise, 0, 0);
  std::vector<double> many(201);
  write_stream_normals(key, many);
  for (const std::size_t count : {1, 2, 64, 100, 200}) {
    std::vector<double> few(count);
    write_stream_normals(key, few);
    CHECK(std::equal(few.begin(), few.end(), many.begin()));
  }
}

TEST_CASE("a random word's uniform number equals its stream's", "[fast][random]") {
  RandomStream words(5, Purpose::samples), numbers(5, Purpose::samples);
  for (int i = 0; i < 1000; ++i) CHECK(uniform_of(words()) == numbers.uniform());
  CHECK(uniform_of(0) == 0x1p-53);
  CHECK(uniform_of(~std::uint64_t{0}) == 1 - 0x1p-53);
}
