// Numbers with few digits, as reports show them.

#include "support/catch.hpp"
#include "text/text.hpp"

namespace popflow {
namespace {

TEST_CASE("numbers with few digits have no exponent below a million", "[fast][text]") {
  CHECK(text::digits(100, 2) == "100");
  CHECK(text::digits(-123, 2) == "-120");
  CHECK(text::digits(0.99951, 3) == "1");
  CHECK(text::digits(99.7, 2) == "100");
  CHECK(text::digits(123456, 3) == "123000");
  CHECK(text::digits(1.5, 2) == "1.5");
  CHECK(text::digits(1234567, 3) == "1.23e+06");
  CHECK(text::digits(1.23456e-5, 3) == "1.23e-05");
  CHECK(text::digits(0, 3) == "0");
}

}  // namespace
}  // namespace popflow
