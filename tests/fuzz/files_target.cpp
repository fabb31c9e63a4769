// Gives damaged popflow files (fuzz/damage.hpp) to every command that reads files.
//
// The first line of an input names a kind of file, for example "run", and the command that reads
// it. Without a command all commands take turns. The other lines are changes to the file.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "fuzz/damage.hpp"
#include "fuzz/support.hpp"

namespace popflow::fuzz {
namespace {

/// Kind of file: how to make one, and which commands use a damaged one. In `uses` "@" stands for
/// the damaged file's name.
struct Kind {
  Lines made_by;
  std::map<std::string, std::vector<Lines>> uses;
};

constexpr const char* kDamaged = "damaged.h5";
constexpr const char* kOutput = "output.h5";

Lines with(Lines words, const Lines& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Lines kSmall = {"--vocab-size", "4", "--context-length", "12",   "--saves",   "4",
                      "--t-end",      "6", "--max-steps",      "1000", "--threads", "1",
                      "--quiet"};
const Lines kNoisy = {"markov", "--mode",  "sgd",  "--steps",   "12", "--saves",
                      "3",      "--state", "ends", "--threads", "1",  "--quiet"};
const Lines kSwept = with({"sweep"}, with(kNoisy, {"--over", "e0=0.1:1:3", "--runs", "2"}));
const Lines kSeries = {"sweep",  "markov",  "--over", "w0=0.1,0.5", "--t-end", "2",      "--record",
                       "series", "--saves", "3",      "--threads",  "1",       "--quiet"};

const std::vector<Lines> kInfo = {{"info", "@"}, {"info", "@", "--json"}, {"info", "@", "--csv"}};
const std::vector<Lines> kPlot = {{"plot", "@"}};

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> all = {
      {"run",
       {with({"run", "scb"}, kSmall),
        {{"info", kInfo},
         {"plot", kPlot},
         {"resume", {{"resume", "@", "--quiet"}, {"resume", "@", "--t-end", "9", "--quiet"}}},
         {"start",
          {with({"run", "scb", "--init-from", "@", "-o", kOutput}, kSmall),
           {"run", "scb", "--problem", "@", "--dry-run"}}},
         {"compare", {{"compare", "--from", "flow=@,sgd=other-run.h5", "-o", kOutput, "--quiet"}}},
         {"merge", {{"merge", "@", "-o", kOutput, "--quiet"}}}}}},
      {"stages",
       {with({"run", "scb", "--schedule", "two-stage", "--l1", "1e-3"}, kSmall),
        {{"info", kInfo}, {"plot", kPlot}, {"resume", {{"resume", "@", "--quiet"}}}}}},
      {"runs",
       {with({"run"}, with(kNoisy, {"--runs", "3"})),
        {{"info", kInfo},
         {"plot", kPlot},
         {"resume", {{"resume", "@", "--quiet"}, {"resume", "@", "--t-end", "9", "--quiet"}}},
         {"merge",
          {{"merge", "@", "other-runs.h5", "-o", kOutput, "--quiet"},
           {"merge", "other-runs.h5", "@", "-o", kOutput, "--quiet"}}},
         {"compare",
          {{"compare", "--from", "sgd=@,svag:2=other-runs.h5", "-o", kOutput, "--quiet"}}}}}},
      {"sweep",
       {kSwept,
        {{"info",
          {{"info", "@"},
           {"info", "@", "--json"},
           {"info", "@", "--csv"},
           {"info", "@", "--cell", "e0=0.1"},
           {"info", "@", "--of", "loss"}}},
         {"plot", kPlot},
         {"resume",
          {{"resume", "@", "--quiet"}, {"resume", "@", "--retry", "missing", "--quiet"}}}}}},
      {"shard",
       {with(kSwept, {"--shard", "1/2"}),
        {{"info", kInfo},
         {"resume", {{"resume", "@", "--quiet"}}},
         {"merge",
          {{"merge", "@", "other-shard.h5", "-o", kOutput, "--quiet"},
           {"merge", "other-shard.h5", "@", "-o", kOutput, "--quiet"},
           {"merge", "@", "--allow-missing", "-o", kOutput, "--quiet"}}}}}},
      {"series",
       {kSeries,
        {{"info", kInfo},
         {"plot", kPlot},
         {"compare",
          {{"compare", "--from", "flow=@,sde=other-series.h5", "-o", kOutput, "--quiet"}}}}}},
      {"comparison",
       {{"compare", "markov", "--rungs", "flow,sgd", "--runs", "3", "--steps", "12", "--saves", "3",
         "--threads", "1", "--quiet"},
        {{"info", kInfo}, {"plot", kPlot}, {"resume", {{"resume", "@", "--quiet"}}}}}},
      {"maps",
       {{"compare", "--from", "flow=good-series.h5,sde=other-series.h5", "--quiet"},
        {{"info", kInfo}, {"plot", kPlot}, {"resume", {{"resume", "@", "--quiet"}}}}}}};
  return all;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void make(const std::string& name, const Lines& words) {
  const Finished finished = popflow(with(words, {"-o", name}));
  expect(finished.code == 0, name + " cannot be made: " + finished.err);
}

/// A good file of a kind and the places in it; made once.
struct Good {
  std::string bytes;
  Lines places;
};

const Good& good(const std::string& kind) {
  static std::map<std::string, Good> known;
  if (known.empty()) {
    enter_scratch_folder();
    make("other-run.h5", with({"run", "scb", "--mode", "sgd", "--learning-rate", "0.5"}, kSmall));
    make("other-runs.h5", with({"run"}, with(kNoisy, {"--runs", "3", "--first-run", "3"})));
    make("other-shard.h5", with(kSwept, {"--shard", "2/2"}));
    make("good-series.h5", kSeries);
    make("other-series.h5", with(kSeries, {"--mode", "sde", "--runs", "2"}));
    for (const auto& [name, row] : kinds()) {
      make("good.h5", with(row.made_by, {"--force"}));
      const std::string bytes = contents("good.h5");
      known[name] = {bytes, places(bytes)};
    }
  }
  return known.at(kind);
}

void use(Lines words) {
  for (std::string& word : words)
    if (const std::size_t at = word.find('@'); at != std::string::npos)
      word.replace(at, 1, kDamaged);
  std::filesystem::remove(kOutput);
  const Finished finished = popflow(words);
  if (finished.code == 2 || finished.code == 3)
    expect(!std::filesystem::exists(kOutput), words.front() + " was refused and left a file");
}

void run(std::string_view input) {
  const auto [head, rest] = first_line(input);
  const std::size_t blank = std::min(head.find(' '), head.size());
  const auto kind = kinds().find(head.substr(0, blank));
  if (kind == kinds().end()) return;
  const Lines changes = lines(rest);
  if (changes.size() > 20) return;
  const std::string bytes = damaged(good(kind->first).bytes, changes);
  const std::string only = head.substr(std::min(blank + 1, head.size()));
  for (const auto& [name, uses] : kind->second.uses) {
    if (!only.empty() && only != name) continue;
    // Write the damaged file again for each command that may change it.
    put(kDamaged, bytes);
    for (const Lines& words : uses) use(words);
  }
}

std::string suggest_head(Random& random) {
  auto kind = kinds().begin();
  std::advance(kind, random() % kinds().size());
  auto use = kind->second.uses.begin();
  std::advance(use, random() % kind->second.uses.size());
  return kind->first + " " + use->first;
}

std::string some_shape(Random& random) {
  std::string shape = std::to_string(random() % 8);
  while (random() % 3 == 0) shape += "," + std::to_string(random() % 5);
  return any_of(random, Lines{shape, shape, shape, "scalar", "null", "0", "1000000000000",
                              "4294967296,4294967296", "1,1,1,1,1,1,1,1,1"});
}

std::string suggest(Random& random, const Lines& lines, std::size_t at) {
  if (at == 0) return suggest_head(random);
  const auto kind = kinds().find(lines.front().substr(0, lines.front().find(' ')));
  if (kind == kinds().end()) return "";
  const Good& file = good(kind->first);
  const std::string place = any_of(random, file.places);
  const std::string other = any_of(random, file.places);
  const std::string number = some_number(random);
  switch (random() % 18) {
    case 0:
      return "delete " + place;
    case 1:
      return "rename " + place + " " + other.substr(0, other.find('@'));
    case 2:
      return "copy " + place + " /more" + std::to_string(random() % 3);
    case 3:
      return "link " + place + " " + other + "/more";
    case 4:
      return "soft " + place + " /more";
    case 5:
      return "group " + place;
    case 6:
    case 7:
      return "shape " + place + " " + some_shape(random);
    case 8:
    case 9:
      return "type " + place + " " + any_of(random, types());
    case 10:
      return "fill " + place + " " + number;
    case 11:
    case 12:
      return "set " + place + " " + std::to_string(random() % 40) + " " + number;
    case 13:
      return "text " + place + " " +
             any_of(random, Lines{"running", "", "\\x1b[31m", "\\xff", "1"});
    case 14:
      return "edit /parameters@config " +
             any_of(random, Lines{"\\s=\\s", "\\n", "markov", "1", "0", "flow", "sgd"}) + " " +
             any_of(random, Lines{number, "", "\\n", "\\s=\\s", "sde", "-"});
    case 15:
      return "pack " + place;
    case 16:
      return "byte " + std::to_string(random() % std::min<std::size_t>(file.bytes.size(), 20000)) +
             " " + std::to_string(random() % 256);
    default:
      return random() % 8 == 0 ? "cut " + std::to_string(random() % file.bytes.size())
                               : "byte " + std::to_string(random() % file.bytes.size()) + " " +
                                     std::to_string(random() % 256);
  }
}

}  // namespace

Target files() { return {"files", run, suggest}; }

}  // namespace popflow::fuzz
