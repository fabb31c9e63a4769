// Counts texts for problems.

#include "dynamics/common/text_units.hpp"
#include "fuzz/support.hpp"
#include "text/utf8.hpp"

namespace popflow::fuzz {
namespace {

void run(std::string_view input) {
  put("input", input);
  for (const TextUnit unit : {TextUnit::character, TextUnit::word})
    (void)done_or_refused([&] {
      for_each_unit("input", unit, [](std::string_view text) {
        expect(!text.empty() && find_invalid_utf8(text) == std::string_view::npos,
               "a unit of a text that is no text");
        (void)is_letter(text);
        expect(label_of(text) == text::printable(label_of(text)) || text.size() > 1,
               "a label that cannot be shown");
      });
    });
  (void)popflow({"run", "markov", "--text", "input", "--dry-run"});
  (void)popflow({"run", "markov", "--text", "input", "--text-ones", "a e i \xc3\xa9", "--dry-run"});
  (void)popflow({"run", "scb", "--text", "input", "--vocab-size", "5", "--dry-run"});
}

}  // namespace

Target text() { return {"text", run, nullptr}; }

}  // namespace popflow::fuzz
