#include "fuzz/support.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "popflow/error.hpp"
#include "popflow/program.hpp"
#include "popflow/systems.hpp"
#include "text/utf8.hpp"

namespace popflow::fuzz {

void expect(bool kept, const std::string& sentence) {
  if (kept) return;
  std::cerr << "popflow_fuzz: " << text::printable(sentence) << std::endl;
  std::abort();
}

bool done_or_refused(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal without a sentence");
  } catch (const std::exception& error) {
    expect(false, std::string("an exception that is no refusal: ") + error.what());
  }
  return false;
}

Lines lines(std::string_view text) {
  Lines all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::pair<std::string, std::string> first_line(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {std::string(text.substr(0, end)),
          std::string(text.substr(std::min(end + 1, text.size())))};
}

void enter_scratch_folder() {
  static const std::string path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "popflow-fuzz-XXXXXX").string();
    expect(mkdtemp(name.data()) != nullptr && chdir(name.c_str()) == 0, "cannot make " + name);
    std::atexit([] {
      std::error_code ignored;
      const std::filesystem::path own = std::filesystem::current_path(ignored);
      if (own.filename().string().starts_with("popflow-fuzz-"))
        std::filesystem::remove_all(own, ignored);
    });
    return name;
  }();
}

void put(const std::string& name, std::string_view contents) {
  enter_scratch_folder();
  // Replace the file by a new one, which has not been examined yet.
  std::filesystem::remove(name);
  std::ofstream(name, std::ios::binary) << contents;
}

namespace {

/// Captures the text that is written to a stream.
class Caught {
 public:
  explicit Caught(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Caught() {
    stream_.rdbuf(before_);
    stream_.clear();
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* before_;
};

std::string shown(const Lines& words) {
  std::string all = "popflow";
  for (const std::string& word : words) all += " '" + word + "'";
  return all;
}

Finished run(const Lines& words) {
  Lines copies = words;
  std::string name = "popflow";
  std::vector<char*> argv = {name.data()};
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Caught out(std::cout), err(std::cerr);
  const int code = run_program(static_cast<int>(argv.size()) - 1, argv.data(), systems());
  return {code, out.text(), err.text()};
}

}  // namespace

Finished popflow(const Lines& words) {
  enter_scratch_folder();
  Finished finished = run(words);
  const std::string said = shown(words) + " ended with " + std::to_string(finished.code) + ": " +
                           finished.err.substr(0, 2000);
  const std::set<int> known = {0, 2, 3, 4, 5, 6};
  expect(known.contains(finished.code), said);
  for (const std::string& all : {finished.out, finished.err})
    expect(all == text::printable(all),
           "control characters or stray bytes: " + said + finished.out);
  const bool failed = finished.code == 2 || finished.code == 3 || finished.code == 5;
  const std::size_t error = finished.err.find("popflow: error: ");
  expect(!failed || error != std::string::npos, said);
  if (failed)
    expect(std::count(finished.err.begin() + static_cast<std::ptrdiff_t>(error), finished.err.end(),
                      '\n') <= 5,
           said);
  return finished;
}

bool is_small(const RunConfig& config) {
  for (const Parameters* table : {&config.own, &config.options})
    for (const Parameter& row : table->table()) {
      const bool size = row.kind == Kind::integer && row.name.find("seed") == std::string::npos &&
                        row.name != "max-steps" && row.name != "first-run";
      if (size && table->has(row.name) && std::abs(table->integer(row.name)) > 300) return false;
    }
  return true;
}

std::string some_number(Random& random) {
  static const Lines special = {"0",
                                "-0",
                                "1",
                                "-1",
                                "2",
                                "3",
                                "0.5",
                                "1e-9",
                                "1e9",
                                "1e300",
                                "1e-320",
                                "nan",
                                "inf",
                                "-inf",
                                "1e400",
                                "0x10",
                                "1.5",
                                "9007199254740992",
                                "1e18",
                                ".5",
                                "5.",
                                "+1",
                                "",
                                "1e",
                                "9007199254740993",
                                "18446744073709551616",
                                "-9223372036854775808"};
  switch (random() % 4) {
    case 0:
      return any_of(random, special);
    case 1:
      return std::to_string(random() % 20);
    case 2:
      return shortest(static_cast<double>(random() % 1000) / 100 - 2);
    default:
      return shortest(
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 80) - 60));
  }
}

std::string some_value(Random& random, const Parameter& parameter) {
  if (random() % 16 == 0) return some_number(random);
  switch (parameter.kind) {
    case Kind::integer:
    case Kind::real:
      if (random() % 4 == 0 && !parameter.default_text.empty()) return parameter.default_text;
      if (random() % 4 == 0 && std::isfinite(parameter.range.low))
        return shortest(parameter.range.low + static_cast<double>(random() % 3));
      if (random() % 4 == 0 && std::isfinite(parameter.range.high))
        return shortest(parameter.range.high - static_cast<double>(random() % 2));
      return some_number(random);
    case Kind::reals: {
      std::string list = some_number(random);
      while (random() % 3 != 0) list += "," + some_number(random);
      return list;
    }
    case Kind::word:
      return any_of(random, parameter.words);
    case Kind::flag:
      return random() % 2 == 0 ? "true" : "false";
    case Kind::path:
      return random() % 2 == 0 ? "input" : "missing";
    case Kind::text:
      return random() % 2 == 0 ? "loss" : "a,b:c=d";
  }
  return "";
}

std::string some_system(Random& random) { return any_of(random, systems().rows()).info().name; }

const Parameter& some_option(Random& random, const ParameterTable& command,
                             const std::string& system) {
  const SystemInfo* info = systems().find(system);
  if (info != nullptr && random() % 2 == 0 && !info->parameters.empty())
    return any_of(random, info->parameters);
  return any_of(random, command);
}

}  // namespace popflow::fuzz
