#include "popflow/parameter.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "popflow/error.hpp"
#include "support/catch.hpp"

namespace popflow {
namespace {

using Catch::Contains;

const Parameter vocabulary{.name = "vocab-size",
                           .kind = Kind::integer,
                           .default_text = "10",
                           .meaning = "number of tokens",
                           .range = {.low = 2}};
const Parameter rate{.name = "rate",
                     .kind = Kind::real,
                     .default_text = "0.5",
                     .meaning = "a rate",
                     .range = {.low = 0, .high = 1, .low_open = true}};
const Parameter offset{
    .name = "offset", .kind = Kind::real, .default_text = "", .meaning = "any number"};
const Parameter method{.name = "method",
                       .kind = Kind::word,
                       .default_text = "dopri5",
                       .meaning = "integrator",
                       .words = {"dopri5", "fehlberg78", "euler"}};
const Parameter times{.name = "save-at",
                      .kind = Kind::reals,
                      .default_text = "",
                      .meaning = "times",
                      .range = {.low = 0}};
const Parameter force{
    .name = "force", .kind = Kind::flag, .default_text = "", .meaning = "replace"};
const Parameter file{.name = "problem", .kind = Kind::path, .default_text = "", .meaning = "file"};
const Parameter letters{
    .name = "text-ones", .kind = Kind::text, .default_text = "", .meaning = "letters"};

std::int64_t whole(const std::string& text) {
  return std::get<std::int64_t>(parse_value(vocabulary, text));
}

double real(const std::string& text) { return std::get<double>(parse_value(offset, text)); }

TEST_CASE("whole numbers are read exactly or not at all", "[fast][parameter]") {
  CHECK(whole("2") == 2);
  CHECK(whole("+7") == 7);
  CHECK(whole("007") == 7);
  CHECK(whole("1e9") == 1000000000);
  CHECK(whole("1.5e1") == 15);
  CHECK(whole("120e-1") == 12);
  CHECK(whole("3.000") == 3);
  CHECK(whole("9007199254740992") == 9007199254740992);

  const auto text =
      GENERATE(as<std::string>(), "", " ", "abc", "-3", "0", "1", "1.5", "1 2", " 3", "3 ", "0x10",
               "1e", "e5", "--3", "+-3", "-+3", "nan", "inf", "-inf", "infinity", "1e99", "1e999",
               "-1e99", "9007199254740993", "9223372036854775808", "18446744073709551616",
               "3.00000000000000000001", "1,5", "3\n", "٣", "1e-1", "2e99999999999999999999");
  CAPTURE(text);
  CHECK_THROWS_AS(parse_value(vocabulary, text), UsageError);
}

TEST_CASE("zero can be written in many ways", "[fast][parameter]") {
  const Parameter count{
      .name = "count", .kind = Kind::integer, .default_text = "", .meaning = "", .range = {}};
  for (const char* text : {"0", "-0", "0.000", "0e5", "0e-5", "00"}) {
    CAPTURE(text);
    CHECK(std::get<std::int64_t>(parse_value(count, text)) == 0);
  }
  CHECK(std::get<std::int64_t>(parse_value(count, "-12e1")) == -120);
}

TEST_CASE("real numbers are finite and in range", "[fast][parameter]") {
  CHECK(real("-3") == -3);
  CHECK(real("1e-300") == 1e-300);
  CHECK(real("+.5") == 0.5);
  CHECK(std::get<double>(parse_value(rate, "1")) == 1);
  for (const char* text : {"", "nan", "NaN", "inf", "-inf", "1e999", "-1e999", "1e-999", "0x1p3",
                           "1 2", "1,2", "abc", "1.2.3", "1e", "-", "+", "."}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_value(offset, text), UsageError);
  }
  for (const char* text : {"0", "-0", "1.0000001", "-1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_value(rate, text), UsageError);
  }
}

TEST_CASE("lists, flags, words, paths and text", "[fast][parameter]") {
  using List = std::vector<double>;
  CHECK(std::get<List>(parse_value(times, "1,2.5, 3e1")) == List{1, 2.5, 30});
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1 2", "1,nan", "1,-2", "1;2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_value(times, text), UsageError);
  }
  CHECK(std::get<bool>(parse_value(force, "true")));
  CHECK_FALSE(std::get<bool>(parse_value(force, "false")));
  CHECK_THROWS_AS(parse_value(force, "yes"), UsageError);
  CHECK(std::get<std::string>(parse_value(method, "euler")) == "euler");
  CHECK_THROWS_AS(parse_value(method, "Euler"), UsageError);
  CHECK_THROWS_AS(parse_value(method, "eul"), UsageError);
  CHECK_THROWS_AS(parse_value(file, ""), UsageError);
  CHECK(std::get<std::string>(parse_value(letters, " # \"")) == " # \"");
}

TEST_CASE("an error names the key, the value and the allowed values", "[fast][parameter]") {
  CHECK_THROWS_WITH(parse_value(vocabulary, "-3"),
                    "--vocab-size is -3; it must be a whole number, at least 2");
  CHECK_THROWS_WITH(parse_value(vocabulary, "abc"),
                    "--vocab-size is 'abc'; it must be a whole number, at least 2");
  CHECK_THROWS_WITH(parse_value(vocabulary, ""),
                    "--vocab-size is empty; it must be a whole number, at least 2");
  CHECK_THROWS_WITH(parse_value(vocabulary, "1e99"),
                    Contains("--vocab-size is 1e99;") && Contains("9007199254740992"));
  CHECK_THROWS_WITH(parse_value(rate, "0"),
                    "--rate is 0; it must be a number, above 0 and at most 1");
  CHECK_THROWS_WITH(parse_value(offset, "nan"), "--offset is nan; it must be a number, and finite");
  CHECK_THROWS_WITH(parse_value(method, "dopri"),
                    "--method is 'dopri'; it must be one of dopri5, fehlberg78, euler; "
                    "did you mean 'dopri5'?");
  const Parameter wide{.name = "wide",
                       .kind = Kind::real,
                       .default_text = "1",
                       .meaning = "a number",
                       .range = {.low = -1e50, .high = 1e50}};
  CHECK_THROWS_WITH(parse_value(wide, "1e60"),
                    "--wide is 1e60; it must be a number, from -1e+50 to 1e+50");
  // A message shows neither a very long value nor control characters.
  CHECK_THROWS_WITH(parse_value(method, std::string(100000, 'x') + "\033[31m"),
                    Contains("xxx...") && !Contains("\033"));
  // A message shows neither invalid bytes nor half a character.
  CHECK_THROWS_WITH(parse_value(rate, std::string("\xff") + "1e-3\n"),
                    Contains("is '\uFFFD1e-3\uFFFD';"));
  CHECK_THROWS_WITH(parse_value(method, std::string(59, 'x') + "\u03BC"),
                    Contains("is '" + std::string(59, 'x') + "...';"));
}

TEST_CASE("a range describes its allowed values", "[fast][parameter]") {
  CHECK(Range{}.describe().empty());
  CHECK(Range{.low = 1}.describe() == "at least 1");
  CHECK(Range{.low = 0, .low_open = true}.describe() == "above 0");
  CHECK(Range{.high = 1e6}.describe() == "at most 1000000");
  CHECK(Range{.high = 1, .high_open = true}.describe() == "below 1");
  CHECK(Range{.low = 0, .high = 1}.describe() == "from 0 to 1");
  CHECK(Range{.low = 0, .high = 0.5, .low_open = true}.describe() == "above 0 and at most 0.5");
  CHECK(Range{.low = 0, .high = 1, .high_open = true}.describe() == "at least 0 and below 1");
  CHECK(Range{.low = 0, .high = 1, .low_open = true, .high_open = true}.describe() ==
        "between 0 and 1, these excluded");
  // The bound 2^53 is left out of the description of whole numbers only.
  const double largest = 9007199254740992.0;
  CHECK(Range{.low = 2, .high = largest}.describe(true) == "at least 2");
  CHECK(Range{.low = 2, .high = 1e6}.describe(true) == "from 2 to 1000000");
  CHECK(Range{.low = -1e50, .high = 1e50}.describe() == "from -1e+50 to 1e+50");
  CHECK(Range{.high = 1e50}.describe() == "at most 1e+50");
  CHECK_FALSE(Range{.low = 0}.contains(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("a number's shortest text form reads back bit for bit", "[fast][parameter]") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1e-8) == "1e-08");
  std::mt19937_64 generator(1);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::ldexp(static_cast<double>(generator()), i % 1000 - 500);
    REQUIRE(real(shortest(value)) == value);
  }
}

TEST_CASE("later origins override earlier ones", "[fast][parameter]") {
  Parameters values({vocabulary, rate, offset, method, times, force, file});
  CHECK(values.integer("vocab-size") == 10);
  CHECK(values.origin("vocab-size") == Origin::defaults);
  CHECK_FALSE(values.given("vocab-size"));
  CHECK_FALSE(values.has("offset"));
  CHECK(values.origin("offset") == Origin::unset);
  CHECK(values.text("offset").empty());
  CHECK_FALSE(values.flag("force"));

  values.set("vocab-size", "20", Origin::config);
  CHECK(values.given("vocab-size"));
  values.set("vocab-size", "30", Origin::command_line);
  CHECK(values.integer("vocab-size") == 30);
  values.resolve("vocab-size", std::int64_t{40});
  CHECK(values.text("vocab-size") == "40");
  CHECK(values.origin("vocab-size") == Origin::command_line);
  values.resolve("offset", 0.25);
  CHECK(values.real("offset") == 0.25);
  CHECK_FALSE(values.given("offset"));

  CHECK_THROWS_AS(values.set("vocab-size", "-3", Origin::command_line), UsageError);
  CHECK_THROWS_AS(values.set("vocab-size", "-3", Origin::config), InputError);
  CHECK_THROWS_WITH(values.set("vocab-size", "-3", Origin::config),
                    "vocab-size is -3; it must be a whole number, at least 2");
  CHECK(values.integer("vocab-size") == 40);
}

TEST_CASE("asking for an unknown name or a wrong kind is a programming error",
          "[fast][parameter]") {
  Parameters values({vocabulary, offset});
  CHECK_THROWS_AS(values.integer("vocab"), std::logic_error);
  CHECK_THROWS_AS(values.real("vocab-size"), std::logic_error);
  CHECK_THROWS_AS(values.real("offset"), std::logic_error);
  CHECK_THROWS_AS(values.resolve("offset", std::int64_t{1}), std::logic_error);
  CHECK(values.find("vocab") == nullptr);
}

TEST_CASE("the nearest name", "[fast][parameter]") {
  const std::vector<std::string> names = {"vocab-size", "context-length", "rtol", "run", "saves"};
  CHECK(nearest("vocab-siez", names) == "vocab-size");
  CHECK(nearest("vocabsize", names) == "vocab-size");
  CHECK(nearest("rnu", names) == "run");
  CHECK(nearest("save", names) == "saves");
  CHECK(nearest("voc", names) == "vocab-size");
  CHECK(nearest("elephant", names).empty());
  CHECK(nearest("", names).empty());
}

}  // namespace
}  // namespace popflow
