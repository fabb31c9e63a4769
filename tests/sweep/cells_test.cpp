// Parameters, seeds and shards of cells.

#include "sweep/cells.hpp"

#include <ctime>
#include <set>

#include "popflow/error.hpp"
#include "support/catch.hpp"
#include "sweep/sweep_fixture.hpp"

namespace popflow::test {
namespace {

using Catch::Contains;
using Places = std::vector<std::size_t>;

const Args noisy = {"--mode", "sgd", "--steps", "10"};

Cells cells(const Args& axes, const Args& more = {}) { return Cells(sweep_of(over(axes, more))); }

std::string refusal(const Args& axes, const Args& more = {}) {
  try {
    (void)cells(axes, more);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST_CASE("cells are numbered with the last axis fastest", "[fast][sweep]") {
  const Cells all = cells({"w0=-1,0,1", "chain:p=.1,.2", "chain:q=.3,.4"});
  CHECK(all.whole() == 6);
  CHECK(all.size() == 6);
  CHECK(all.places(0) == Places{0, 0});
  CHECK(all.places(1) == Places{0, 1});
  CHECK(all.places(5) == Places{2, 1});
  const RunConfig last = all.config(5);
  CHECK(last.own.real("w0") == 1);
  CHECK(last.own.real("p") == 0.2);
  CHECK(last.own.real("q") == 0.4);
  CHECK(all.describe(5) == "w0 = 1, p = 0.2, q = 0.4");
  for (std::uint64_t cell = 0; cell < 6; ++cell)
    CHECK(all.find(all.describe(cell).empty() ? "" : [&] {
      std::string words = all.describe(cell);
      for (std::size_t at = 0; (at = words.find(" = ")) != std::string::npos;)
        words.replace(at, 3, "=");
      for (std::size_t at = 0; (at = words.find(", ")) != std::string::npos;)
        words.replace(at, 2, ",");
      return words;
    }()) == cell);
}

TEST_CASE("without an axis there is one cell, which is the run", "[fast][sweep]") {
  const Cells one = cells({}, {"--mode", "sgd", "--steps", "10", "--seed", "7", "--runs", "3"});
  CHECK(one.whole() == 1);
  CHECK(one.runs() == 3);
  CHECK(one.describe(0).empty());
  CHECK_FALSE(one.own_seeds());
  CHECK(one.seed(0) == 7);
}

TEST_CASE("a cell has the options of a run", "[fast][sweep]") {
  const Cells end = cells({"w0=1,2"}, {"--saves", "50", "--save-spacing", "log", "--save-first",
                                       "0.1", "--t-end", "9", "--w0", "5"});
  CHECK(end.config(1).options.integer("saves") == 1);
  CHECK(end.config(1).options.word("save-spacing") == "linear");
  CHECK(end.config(1).options.real("t-end") == 9);
  CHECK(end.config(1).own.real("w0") == 2);
  const Cells series = cells({"w0=1,2"}, {"--saves", "50", "--record", "series"});
  CHECK(series.config(1).options.integer("saves") == 50);
}

TEST_CASE("a cell is selected by its values", "[fast][sweep]") {
  const Cells all = cells({"w0=-1,0.5,1", "chain:p=.1,.2,.1", "chain:q=.3,.4,.5", "t-end=3"});
  CHECK(all.find("w0=0.50,chain=1") == 4);
  CHECK(all.find("--w0=5e-1,p=.2") == 4);
  CHECK(all.find("w0=-1,p=.1,q=.5") == 2);
  CHECK(all.find("w0=-1,q=.5,t_end=3") == 2);
  CHECK_THROWS_WITH(all.find("w0=.6,chain=1"),
                    "--cell w0=.6: w0 has no such value; the nearest is 0.5");
  CHECK_THROWS_WITH(all.find("w0=1,p=.1"), Contains("does not determine p; 2 of its values fit"));
  CHECK_THROWS_WITH(all.find("w0=1,p=.1,q=.4"), Contains("no place of 'chain' has these values"));
  CHECK_THROWS_WITH(all.find("w0=1"), Contains("does not determine p; it has 3 values"));
  CHECK_THROWS_WITH(all.find("w0=1,e0=2"), Contains("'e0' is not swept; swept are: w0, p, q"));
  CHECK_THROWS_WITH(all.find("w0=1,chain=3"), Contains("the places on 'chain' are 0 to 2"));
  CHECK_THROWS_WITH(all.find("w0"), Contains("AXIS=VALUE"));
}

TEST_CASE("a cell's seed depends on names and values of parameters, not on positions",
          "[fast][sweep]") {
  const Cells small = cells({"w0=1,2", "e0=3,4"}, noisy);
  const Cells large = cells({"e0=0:5:11", "w0=2,7,1"}, noisy);
  for (const char* cell : {"w0=1,e0=3", "w0=2,e0=3", "w0=1,e0=4", "w0=2,e0=4"})
    CHECK(small.seed(small.find(cell)) == large.seed(large.find(cell)));
  // A label does not affect the seed; an axis with a single value does.
  const Cells labelled = cells({"both:w0=1,2", "both:e0=3,4"}, noisy);
  CHECK(labelled.seed(1) == small.seed(small.find("w0=2,e0=4")));
  CHECK(cells({"w0=1"}, noisy).seed(0) != small.seed(0));
  // A cell with equal values of another parameter has another seed.
  CHECK(cells({"w0=1", "b0=3"}, noisy).seed(0) != small.seed(0));
  CHECK(cells({"w0=3", "e0=1"}, noisy).seed(0) != small.seed(0));
  std::set<std::int64_t> seeds;
  for (std::uint64_t cell = 0; cell < large.size(); ++cell) {
    CHECK(large.seed(cell) >= 0);
    CHECK(large.seed(cell) < (std::int64_t{1} << 53));  // exactly representable for every reader
    CHECK(large.config(cell).options.integer("seed") == large.seed(cell));
    seeds.insert(large.seed(cell));
  }
  CHECK(seeds.size() == large.size());
}

TEST_CASE("seeds follow --seed, --same-seed and a swept seed", "[fast][sweep]") {
  const auto with = [](Args more) {
    more.insert(more.end(), noisy.begin(), noisy.end());
    return more;
  };
  const Cells one = cells({"w0=1,2"}, with({"--seed", "1"}));
  const Cells two = cells({"w0=1,2"}, with({"--seed", "2"}));
  CHECK(one.seed(0) != two.seed(0));
  const Cells same = cells({"w0=1,2"}, with({"--seed", "5", "--same-seed"}));
  CHECK(same.seed(0) == 5);
  CHECK(same.seed(1) == 5);
  const Cells swept = cells({"w0=1,2", "seed=3..5"}, noisy);
  CHECK(swept.seed(swept.find("w0=2,seed=4")) == 4);
}

TEST_CASE("the hash depends on the options that affect results", "[fast][sweep]") {
  const std::string hash = cells({"w0=1:3:9"}, {"--t-end", "5"}).hash();
  CHECK(hash.size() == 16);
  // The hash must not change with the program, so that sweeps can be continued: new options at
  // their defaults do not affect it.
  CHECK(hash == "ae7072afa9bd5371");
  CHECK(cells({"w0=1:3:9"}, {"--t-end", "5", "--shard", "2/3"}).hash() == hash);
  CHECK(cells({"w0=1:3:9"}, {"--t-end", "5", "--threads", "2", "--keep-going"}).hash() == hash);
  CHECK(cells({"w0=1:3:9"}, {"--t-end", "5", "-o", "x.h5"}).hash() == hash);
  CHECK(cells({"w0=1:3:5"}, {"--t-end", "5"}).hash() != hash);
  CHECK(cells({"w0=1:3:9"}, {"--t-end", "6"}).hash() != hash);
  CHECK(cells({"w0=1:3:9"}, {"--t-end", "5", "--p", "0.21"}).hash() != hash);
  CHECK(cells({"e0=1:3:9"}, {"--t-end", "5"}).hash() != hash);
}

TEST_CASE("every cell is in exactly one shard", "[fast][sweep]") {
  for (const int size : {1, 2, 3, 4, 5, 7, 8, 12, 13, 21, 34, 100, 144, 377, 1000})
    for (const int shards : {1, 2, 3, 5, 8, 13, 64}) {
      if (shards > size) continue;
      CAPTURE(size, shards);
      std::multiset<std::uint64_t> seen;
      for (int shard = 1; shard <= shards; ++shard) {
        const Cells part = cells({"seed=1.." + std::to_string(size)},
                                 {"--shard", std::to_string(shard) + "/" + std::to_string(shards)});
        CHECK(part.size() >= static_cast<std::uint64_t>(size / shards));
        CHECK(part.size() <= static_cast<std::uint64_t>(size / shards) + 1);
        for (std::uint64_t i = 0; i < part.size(); ++i) seen.insert(part.number(i));
      }
      REQUIRE(seen.size() == static_cast<std::size_t>(size));
      CHECK(*seen.begin() == 0);
      CHECK(*seen.rbegin() == static_cast<std::uint64_t>(size) - 1);
      CHECK(std::set<std::uint64_t>(seen.begin(), seen.end()).size() == seen.size());
    }
}

TEST_CASE("a shard has cells from all parts of the grid", "[fast][sweep]") {
  // The number of columns is a multiple of the number of shards. Shards of every fourth cell would
  // contain only every fourth column.
  for (int shard = 1; shard <= 4; ++shard) {
    const Cells part = cells({"w0=0:1:40", "e0=0:1:40"}, {"--shard", std::to_string(shard) + "/4"});
    std::vector<int> rows(40), columns(40), corners(4);
    for (std::uint64_t i = 0; i < part.size(); ++i) {
      const Places place = part.places(part.number(i));
      ++rows[place[0]];
      ++columns[place[1]];
      ++corners[(place[0] < 20 ? 0 : 1) + (place[1] < 20 ? 0 : 2)];
    }
    for (int i = 0; i < 40; ++i) {
      CHECK(std::abs(rows[i] - 10) <= 5);
      CHECK(std::abs(columns[i] - 10) <= 5);
    }
    for (const int corner : corners) CHECK(std::abs(corner - 100) <= 10);
  }
}

TEST_CASE("wrong shards are refused", "[fast][sweep]") {
  for (const char* text : {"1", "1/", "/2", "a/2", "1/2/3", "1/0", "-1/2", "1/2 ", ""})
    CHECK_THROWS_WITH(parse_shard(text), Contains("it must be I/N, two whole numbers"));
  CHECK_THROWS_WITH(parse_shard("0/3"),
                    Contains("I must be from 1 to N") && Contains("--array=1-3"));
  CHECK_THROWS_WITH(parse_shard("4/3"), Contains("I must be from 1 to N, here 3"));
  CHECK(refusal({"w0=1,2"}, {"--shard", "1/3"}) == "--shard 1/3: the sweep has only 2 cells");
}

TEST_CASE("10^12 cells are counted without being expanded", "[fast][sweep]") {
  const Cells many = cells({"w0=1:2:1000000", "e0=0:1:1000000"});
  CHECK(many.whole() == 1000000000000);
  CHECK(many.places(999999999999) == Places{999999, 999999});
  const Cells part = cells({"w0=1:2:1000000", "e0=0:1:1000000"}, {"--shard", "999/1000"});
  CHECK(part.size() == 1000000000);
  CHECK(part.number(999999999) < 1000000000000);
  CHECK_THAT(refusal({"w0=1:2:1000000", "e0=0:1:1000000", "b0=0:1:1000000"}),
             Contains("at most 2^53 runs are allowed in all"));
}

TEST_CASE("too many cells are refused quickly", "[fast][sweep]") {
  // Limits the processor time: making the values would take 7 s, and minutes under sanitizers.
  const std::clock_t began = std::clock();
  CHECK(refusal({"w0=-1:1:10000000", "e0=.1:1:10000000", "p=.1:.9:10000000"}) ==
        "--over makes 1e+21 cells; at most 2^53 runs are allowed in all");
  CHECK_THAT(refusal({"steps=1:1000000000:10000000:log", "seed=0:10000000:10000000",
                      "batch-size=1..9999999"},
                     {"--mode", "sgd"}),
             Contains("at most 2^53 runs are allowed in all"));
  CHECK(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC < 1);
}

}  // namespace
}  // namespace popflow::test
