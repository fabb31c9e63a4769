// Reads files of bigram counts.

#include "fuzz/support.hpp"

namespace popflow::fuzz {
namespace {

void run(std::string_view input) {
  put("input", input);
  (void)popflow({"run", "scb", "--counts", "input", "--dry-run"});
  (void)popflow({"run", "scb", "--counts", "input", "--vocab-size", "3", "--dry-run"});
}

std::string suggest(Random& random, const Lines& /*lines*/, std::size_t /*at*/) {
  static const Lines names = {"a", "b", "the", "\xc3\xa9", "", " ", "<unk>"};
  return any_of(random, names) + "\t" + any_of(random, names) + "\t" + some_number(random);
}

}  // namespace

Target counts() { return {"counts", run, suggest}; }

}  // namespace popflow::fuzz
