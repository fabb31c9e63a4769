// Values of the axes that --over describes.

#include "sweep/axis.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdio>
#include <set>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "sweep/sweep_fixture.hpp"

namespace popflow::test {
namespace {

using Catch::Contains;
using Numbers = std::vector<double>;

Axes axes(const Args& words, const Sampling& sampling = {}, const std::string& system = "markov") {
  // Parameters point into tables of the configuration, which must outlive them.
  static std::vector<std::unique_ptr<RunConfig>> kept;
  kept.push_back(std::make_unique<RunConfig>(sweep_of({}, system)));
  return parse_axes(words, *kept.back(), sampling);
}

/// Returns the values of the single axis that a word defines.
Numbers numbers(const std::string& word) {
  const Axes read = axes({word});
  REQUIRE(read.axes.size() == 1);
  REQUIRE(read.axes[0].parameters.size() == 1);
  return read.axes[0].parameters[0].numbers;
}

std::string refusal(const Args& words, const Sampling& sampling = {}) {
  try {
    (void)axes(words, sampling);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST_CASE("a list has the values in the option's format", "[fast][sweep]") {
  CHECK(numbers("w0=-1.9,0.25,1e-3,+2") == Numbers{-1.9, 0.25, 1e-3, 2});
  CHECK(numbers("w0=3") == Numbers{3});
  CHECK(numbers("batch-size=1,4,16") == Numbers{1, 4, 16});
  CHECK(numbers("--w0=1,2") == Numbers{1, 2});
  const Axis words = axes({"bias=free,optimal"}).axes[0];
  CHECK(words.dimension == "bias");
  CHECK_FALSE(words.parameters[0].is_number());
  CHECK(words.parameters[0].words == Args{"free", "optimal"});
  CHECK(words.parameters[0].text(1) == "optimal");
}

TEST_CASE("file names may contain dots, colons and escaped commas", "[fast][sweep]") {
  CHECK(axes({"text=../a.txt,b\\,c.txt,1:2:3"}).axes[0].parameters[0].words ==
        Args{"../a.txt", "b,c.txt", "1:2:3"});
}

TEST_CASE("LO..HI means every whole number", "[fast][sweep]") {
  CHECK(numbers("seed=3..6") == Numbers{3, 4, 5, 6});
  CHECK(numbers("seed=3..3") == Numbers{3});
  // The range may end at the largest number, where adding 1 changes nothing.
  CHECK(numbers("seed=9007199254740990..9007199254740992") ==
        Numbers{9007199254740990, 9007199254740991, 9007199254740992});
  CHECK(refusal({"w0=1..5"}) ==
        "--over w0=1..5: LO..HI is for whole numbers, but --w0 is a real number; use LO:HI:N");
  CHECK(refusal({"seed=5..1"}) == "--over seed=5..1: the range decreases; it must increase");
  CHECK_THAT(refusal({"seed=1..1e9"}), Contains("1e+09 values; an axis has at most 1e+07"));
  CHECK_THAT(refusal({"seed=1.5..3"}), Contains("--seed is 1.5; it must be a whole number"));
}

TEST_CASE("a range includes its ends and has equal steps", "[fast][sweep]") {
  CHECK(numbers("w0=0:1:5") == Numbers{0, 0.25, 0.5, 0.75, 1});
  CHECK(numbers("w0=-1.9:.9:8") == Numbers{-1.9, -1.5, -1.1, -0.7, -0.3, 0.1, 0.5, 0.9});
  CHECK(numbers("w0=-2:-1:2") == Numbers{-2, -1});
  CHECK(numbers("w0=1:1000:4:log") == Numbers{1, 10, 100, 1000});
  CHECK(numbers("learning-rate=1e-4:1e-2:3:log") == Numbers{1e-4, 1e-3, 1e-2});
}

TEST_CASE("coarse and fine ranges share their common values", "[fast][sweep]") {
  for (const char* range : {"0:1", "-1.9:0.9", "0.1:0.7", "-3:-1.1"}) {
    const std::string word = std::string("w0=") + range;
    const Numbers fine = numbers(word + ":85"), coarse = numbers(word + ":29");
    for (std::size_t i = 0; i < coarse.size(); ++i) CHECK(coarse[i] == fine[3 * i]);
  }
  const Numbers fine = numbers("w0=1e-3:10:81:log"), coarse = numbers("w0=1e-3:10:5:log");
  for (std::size_t i = 0; i < coarse.size(); ++i) CHECK(coarse[i] == fine[20 * i]);
  // A power of ten is the same number in every range, whatever its ends.
  for (int low = -12; low < 3; ++low)
    for (int high = low + 1; high <= 3; ++high) {
      const std::string ends = "1e" + std::to_string(low) + ":1e" + std::to_string(high);
      const Numbers decades = numbers("w0=" + ends + ":" + std::to_string(high - low + 1) + ":log");
      for (int i = low; i <= high; ++i) {
        const auto place = static_cast<std::size_t>(i - low);
        CHECK(decades[place] == std::stod("1e" + std::to_string(i)));
      }
    }
  // To 15 digits the values are those that one would write by hand.
  for (const double value : numbers("w0=0:1:11")) CHECK(value == std::round(10 * value) / 10);
}

TEST_CASE("a logarithmic range has the nearest numbers, to 15 digits", "[fast][sweep]") {
  using Exact = boost::multiprecision::cpp_bin_float_50;
  const Exact low(7e-9), high(123.4);
  const Numbers found = numbers("w0=7e-9:123.4:500:log");
  REQUIRE(found.size() == 500);
  for (int i = 1; i < 499; ++i) {
    const Exact exact = low * pow(high / low, Exact(i) / 499);
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", static_cast<double>(exact));
    CHECK(found[static_cast<std::size_t>(i)] == std::stod(text));
  }
}

TEST_CASE("a range through zero has short decimals, and zero itself", "[fast][sweep]") {
  for (const double value : numbers("w0=-1.9:.9:29")) CHECK(value == std::round(10 * value) / 10);
  for (const double value : numbers("w0=-2:1.99:400"))
    CHECK(value == std::round(100 * value) / 100);
  for (const double value : numbers("w0=-1000:999.9:20000"))
    CHECK(value == std::round(10 * value) / 10);
  const Numbers across = numbers("w0=-1.9:.9:29");
  CHECK(across[19] == 0);
  CHECK_FALSE(std::signbit(across[19]));
  CHECK(numbers("w0=1e-20:1:3") == Numbers{1e-20, 0.5, 1});
}

TEST_CASE("whole numbers of a range are rounded and merged, and a remark says so",
          "[fast][sweep]") {
  const Axes read = axes({"batch-size=1:4:13"});
  CHECK(read.axes[0].parameters[0].numbers == Numbers{1, 2, 3, 4});
  REQUIRE(read.remarks.size() == 1);
  CHECK(read.remarks[0] ==
        "--over batch-size=1:4:13: of 13 values, rounded to whole numbers, 4 are distinct");
  CHECK(axes({"batch-size=1:9:3"}).remarks.empty());
  CHECK(numbers("batch-size=1:1000:7:log") == Numbers{1, 3, 10, 32, 100, 316, 1000});
  CHECK_THAT(refusal({"w0=1:1.00000000000001:99"}), Contains("coincide to 15 digits"));
}

TEST_CASE("cells are counted before values are made", "[fast][sweep]") {
  const auto least = [](const Args& words, const Sampling& sampling = {}) {
    const RunConfig config = sweep_of({});
    return least_cells(words, config, sampling);
  };
  CHECK(least({"w0=-1:1:10000000", "e0=0:1:10000000", "p=.1:.9:10000000"}) == 1e21);
  CHECK(least({"e0=.1:1:1000:log", "w0=1:2:2"}) == 2000);
  CHECK(least({"batch-size=1..100", "a:w0=0:1:7", "a:e0=0:1:7"}) == 700);
  CHECK(least({"w0=0:1", "e0=.1:1:log", "batch-size=1:9"}, {64, 1}) == 64);
  CHECK(least({}) == 1);
  // The count of rounded ranges is a lower bound, and close to the number of values.
  for (const char* word :
       {"batch-size=1:4:13", "batch-size=1:1000:7:log", "batch-size=1:9:3",
        "batch-size=1:1000:1000:log", "batch-size=5:70000:20000:log", "batch-size=1:3:500:log",
        "batch-size=1:500:2:log", "seed=1:2000:1500", "seed=1:2000:1999", "seed=1:2000:40000",
        "seed=9007199254740000:9007199254740992:500"}) {
    CAPTURE(word);
    const auto made = static_cast<double>(axes({word}).axes[0].size());
    CHECK(least({word}) <= made);
    CHECK(least({word}) >= 0.6 * made - 4);
  }
}

TEST_CASE("parameters with one label change together", "[fast][sweep]") {
  const Axes read = axes({"chain:p=.1,.2", "w0=1,2,3", "chain:q=.3,.3"});
  REQUIRE(read.axes.size() == 2);
  CHECK(read.axes[0].dimension == "chain");
  CHECK(read.axes[0].indexed);
  REQUIRE(read.axes[0].parameters.size() == 2);
  // a repeated value, for another p
  CHECK(read.axes[0].parameters[1].numbers == Numbers{0.3, 0.3});
  CHECK(read.axes[1].dimension == "w0");
  CHECK_FALSE(read.axes[1].indexed);
  CHECK(axes({"problem-seed=1,2"}).axes[0].dimension == "problem_seed");
  CHECK(refusal({"a:p=.1,.2", "a:q=.1,.2,.3"}) ==
        "--over a:q=.1,.2,.3: parameters of one label change together, so they need equally many "
        "values; --p has 2, but --q has 3");
  CHECK_THAT(refusal({"p=.1,.2", "p:q=.1,.2"}), Contains("another axis has the name 'p'"));
  CHECK_THAT(refusal({"p:q=.1,.2", "p=.1,.2"}), Contains("another axis has the name 'p'"));
  for (const char* label : {"1a", "", "a-b", "a b"})
    CHECK_THAT(refusal({std::string(label) + ":p=.1,.2"}), Contains("must begin with a letter"));
}

TEST_CASE("sampled axes share one dimension", "[fast][sweep]") {
  const Axes read = axes({"w0=-1:1", "p=.1,.2", "e0=1:100:log", "batch-size=1:3"}, {500, 1});
  REQUIRE(read.axes.size() == 2);
  const Axis& sample = read.axes[0];  // in place of the first sampled axis
  CHECK(sample.dimension == "sample");
  CHECK(sample.size() == 500);
  REQUIRE(sample.parameters.size() == 3);
  const auto in = [](const Numbers& all, double low, double high) {
    return std::all_of(all.begin(), all.end(), [&](double v) { return v >= low && v <= high; });
  };
  CHECK(in(sample.parameters[0].numbers, -1, 1));
  CHECK(in(sample.parameters[1].numbers, 1, 100));
  // Half of the points lie below the middle of the interval, or of the logarithmic interval.
  const auto below = [](const Numbers& all, double middle) {
    return std::count_if(all.begin(), all.end(), [&](double v) { return v < middle; });
  };
  CHECK(std::abs(below(sample.parameters[0].numbers, 0) - 250) <= 3);
  CHECK(std::abs(below(sample.parameters[1].numbers, 10) - 250) <= 3);
  // All whole numbers occur equally often, the ends included.
  for (const double whole : {1.0, 2.0, 3.0})
    CHECK(std::abs(std::count(sample.parameters[2].numbers.begin(),
                              sample.parameters[2].numbers.end(), whole) -
                   167) <= 5);
}

TEST_CASE("a larger number of samples extends a smaller one", "[fast][sweep]") {
  const Args words = {"w0=-1:1", "e0=0:1"};
  const Axis few = axes(words, {7, 3}).axes[0], many = axes(words, {100, 3}).axes[0];
  for (std::size_t d = 0; d < 2; ++d)
    for (std::size_t i = 0; i < 7; ++i)
      CHECK(few.parameters[d].numbers[i] == many.parameters[d].numbers[i]);
  // Another seed gives other points, and all points differ.
  const Axis other = axes(words, {7, 4}).axes[0];
  CHECK(other.parameters[0].numbers != few.parameters[0].numbers);
  const Numbers& all = many.parameters[0].numbers;
  CHECK(std::set<double>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("sampled points fill the square evenly", "[fast][sweep]") {
  // Each of 8 x 8 boxes contains one of the first 64 points of a Sobol sequence, shifted or not.
  const Axis sample = axes({"w0=0:8", "e0=0:8"}, {64, 11}).axes[0];
  std::set<std::pair<int, int>> boxes;
  for (std::size_t i = 0; i < 64; ++i)
    boxes.insert({static_cast<int>(sample.parameters[0].numbers[i]),
                  static_cast<int>(sample.parameters[1].numbers[i])});
  CHECK(boxes.size() == 64);
}

TEST_CASE("sampling without a number of points, or along a label, is refused", "[fast][sweep]") {
  CHECK_THAT(refusal({"w0=-1:1"}), Contains("give the number of points by --samples"));
  CHECK_THAT(refusal({"a:w0=-1:1"}, {5, 1}), Contains("share the dimension 'sample'"));
  CHECK_THAT(refusal({"sample:w0=1,2"}), Contains("the dimension 'sample' belongs to"));
  CHECK(axes({"sample:w0=-1:1"}, {5, 1}).axes[0].dimension == "sample");
}

TEST_CASE("wrong axes are refused with the reason", "[fast][sweep]") {
  CHECK(refusal({"w0"}) == "--over w0: an axis must have the form [LABEL:]PARAMETER=VALUES");
  CHECK_THAT(refusal({"w0="}), Contains("no values after '='"));
  CHECK_THAT(refusal({"w1=1,2"}), Contains("unknown parameter 'w1'; did you mean 'w0'?"));
  CHECK(refusal({"w0=1,a"}) ==
        "--over w0=1,a: --w0 is 'a'; it must be a number, from -1000 to 1000");
  CHECK_THAT(refusal({"w0=1,,2"}), Contains("--w0 is empty"));
  CHECK_THAT(refusal({"w0=1,nan"}), Contains("--w0 is nan"));
  CHECK_THAT(refusal({"w0=1,1.0"}), Contains("the value 1 occurs twice"));
  CHECK_THAT(refusal({"w0=0,-0"}), Contains("the value -0 occurs twice"));
  CHECK_THAT(refusal({"p=.1,1.5"}), Contains("--p is 1.5; it must be a number, from 0 to 1"));
  CHECK_THAT(refusal({"bias=free,fre"}), Contains("--bias is 'fre'"));
  CHECK_THAT(refusal({"batch-size=1,1.5"}),
             Contains("--batch-size is 1.5; it must be a whole number"));
  CHECK_THAT(refusal({"w0=2:1:5"}), Contains("the range from 2 to 1 decreases"));
  CHECK_THAT(refusal({"w0=1:1:5"}), Contains("the range from 1 to 1 is a single value"));
  for (const char* count : {"1", "0", "-3", "x", "2.5", "1e9", ""})
    CHECK_THAT(refusal({std::string("w0=1:2:") + count}),
               Contains("it must be a whole number from 2 to 1e+07"));
  CHECK_THAT(refusal({"w0=-1:2:5:log"}), Contains("the range begins at -1"));
  CHECK_THAT(refusal({"w0=1:2:5:lin"}), Contains("the values can't be read"));
  CHECK_THAT(refusal({"w0=1:2:3:4:5"}), Contains("the values can't be read"));
  CHECK_THAT(refusal({"p=.5:1.5:3"}), Contains("--p is 1.5"));
  CHECK_THAT(refusal({"w0=1,2", "w0=3"}), Contains("--w0 is swept twice"));
  for (const std::string own : {"time", "save", "run", "cell"})
    CHECK_THAT(refusal({own + ":w0=1,2", own + ":e0=1,2"}),
               Contains("'" + own + "' is a dimension that files have"));
}

TEST_CASE("options that do not affect results cannot be swept", "[fast][sweep]") {
  for (const char* name : {"mode", "runs", "saves", "save-spacing", "save-first", "state",
                           "threads", "output", "force", "config", "dry-run", "checkpoint-every",
                           "quiet", "progress", "first-run", "state-of-optimizer"}) {
    CAPTURE(name);
    CHECK_THAT(refusal({std::string(name) + "=1,2"}), Contains("cannot be swept"));
  }
  CHECK_THAT(refusal({"save-at=1,2"}), Contains("lists cannot be swept"));
  for (const char* word : {"over=1", "samples=2", "reduce=runs", "shard=1/2"})
    CHECK_THAT(refusal({word}), Contains("unknown parameter"));
  for (const char* word : {"t-end=1,2", "rtol=1e-6,1e-8", "max-steps=10,20", "method=rk4,euler",
                           "problem-seed=1,2", "init-from=a.h5,b.h5", "learning-rate=.1,.2"})
    CHECK(refusal({word}) == "(accepted)");
}

}  // namespace
}  // namespace popflow::test
