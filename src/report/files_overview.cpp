#include "report/files_overview.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "engine/status.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "report/contents.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Progress of the work of a file.
struct Done {
  std::uint64_t done = 0;
  std::uint64_t all = 0;
  std::string unit = {};                            ///< cells, runs or saves; empty if unknown
  std::map<std::string, std::uint64_t> ended = {};  ///< number of cells or runs for each status
};

Done done_of_sweep(const DataFile& file) {
  const std::vector<std::string> words =
      text::split_words(file.text_attribute("status", "flag_meanings").value_or(""));
  const std::vector<std::int64_t> status = file.read("status").integers;
  Done found{.all = status.size()};
  for (const std::int64_t word : status) {
    const bool known = word >= 0 && word < static_cast<std::int64_t>(words.size());
    const std::string name = known ? words[static_cast<std::size_t>(word)] : "missing";
    ++found.ended[name];
    found.done += name == "missing" ? 0 : 1;
  }
  const std::vector<std::string> dimensions = file.dimensions("status");
  const bool of_runs = !dimensions.empty() && dimensions.back() == "run";
  found.unit = of_runs ? "runs" : "cells";
  return found;
}

Done done_of_run(const DataFile& file) {
  const std::size_t saves = file.length("time");
  const std::vector<std::size_t> done = contents::saves_of_runs(file, saves);
  return {.done = std::accumulate(done.begin(), done.end(), std::uint64_t{0}),
          .all = saves * done.size(),
          .unit = "saves"};
}

Done done_of(const DataFile& file) {
  switch (kind_of(file)) {
    case FileKind::sweep:
      return done_of_sweep(file);
    case FileKind::run:
      return done_of_run(file);
    default:
      return {};
  }
}

/// Text such as "40 of 100 cells".
std::string in_words(const Done& one) {
  if (one.unit.empty()) return "";
  return std::to_string(one.done) + " of " + std::to_string(one.all) + " " + one.unit;
}

/// Time since the file was last written, such as "3:05 ago".
std::string age_of(const std::string& path) {
  std::error_code unknown;
  const auto written = std::filesystem::last_write_time(path, unknown);
  if (unknown) return "";
  const std::chrono::duration<double> age = std::filesystem::file_time_type::clock::now() - written;
  return text::duration(std::max(age.count(), 0.0)) + " ago";
}

/// Shard of a sweep that a file holds: its number, counted from 1, and the number of shards.
struct FileShard {
  std::int64_t number = 0;
  std::int64_t of = 0;
};

/// Empty for a file without shards. Throws InputError if the numbers in the file are not a valid
/// shard.
std::optional<FileShard> shard_of(const DataFile& file) {
  if (!file.has_group("sweep")) return std::nullopt;
  const std::optional<std::int64_t> of = contents::count_attribute(file, "sweep", "shards");
  if (!of) return std::nullopt;
  const std::optional<std::int64_t> number = contents::count_attribute(file, "sweep", "shard", *of);
  return number ? std::optional<FileShard>({*number, *of}) : std::nullopt;
}

/// Numbers of the available shards, for each total number of shards.
using Shards = std::map<std::int64_t, std::set<std::int64_t>>;

/// Returns sentences on shards without a file: the numbers of the first twenty, and the count of
/// the others.
std::string missing_shards(const Shards& shards) {
  constexpr std::ptrdiff_t kMost = 20;
  std::string said;
  for (const auto& [of, present] : shards) {
    std::vector<std::string> named;
    for (std::int64_t number = 1; number <= of && std::ssize(named) < kMost; ++number)
      if (!present.contains(number)) named.push_back(std::to_string(number));
    if (named.empty()) continue;
    const std::int64_t missing = of - std::ssize(present);
    const std::int64_t others = missing - std::ssize(named);
    said += "no file among these: shard" + std::string(missing > 1 ? "s " : " ") +
            text::join(named, ", ");
    if (others > 0) said += " and " + std::to_string(others) + (others > 1 ? " others" : " other");
    said += " of " + std::to_string(of) + "\n";
  }
  return said;
}

}  // namespace

FilesOverview describe_files(const std::vector<std::string>& paths) {
  FilesOverview together;
  std::vector<std::vector<std::string>> rows = {{"file", "status", "done", "last written"}};
  std::map<std::string, Done> all;  // totals by unit
  Shards shards;
  const auto add = [&](const DataFile& file) {
    const Done one = done_of(file);
    const std::string status = file.text_attribute("", "status").value_or("unknown");
    const std::optional<FileShard> shard = shard_of(file);
    Done& sum = all[one.unit];
    sum.unit = one.unit;
    sum.done += one.done;
    sum.all += one.all;
    for (const auto& [word, count] : one.ended) sum.ended[word] += count;
    if (shard && shard->of > 1) shards[shard->of].insert(shard->number);
    rows.push_back(
        {file.path(), status, in_words(one), is_unfinished(status) ? age_of(file.path()) : ""});
  };
  for (const std::string& path : paths) {
    try {
      add(DataFile(path));
    } catch (const InputError& error) {
      rows.push_back({path, "-", "", ""});
      together.unread.emplace_back(error.what());
    }
  }
  together.page = text::columns(rows, 0) + "\n";
  for (const auto& [unit, sum] : all) {
    if (unit.empty()) continue;
    std::vector<std::string> ends;
    for (const auto& [word, count] : sum.ended) ends.push_back(std::to_string(count) + " " + word);
    together.page +=
        "in all " + in_words(sum) + (ends.empty() ? "" : ": " + text::join(ends, ", ")) + "\n";
  }
  together.page += missing_shards(shards);
  return together;
}

}  // namespace popflow
