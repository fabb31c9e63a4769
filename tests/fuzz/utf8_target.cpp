// Makes texts of unknown origin printable on a screen, in a file and in a shell.

#include "dynamics/common/text_units.hpp"
#include "fuzz/support.hpp"
#include "options/tokens.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"

namespace popflow::fuzz {
namespace {

bool is_valid(std::string_view text) { return find_invalid_utf8(text) == std::string_view::npos; }

void run(std::string_view input) {
  const std::string stray(input);
  const std::string valid = text::as_utf8(stray);
  expect(is_valid(valid), "as_utf8 gives stray bytes");
  expect(!is_valid(stray) || stray.find('\0') != std::string::npos || valid == stray,
         "as_utf8 changes what is valid");
  for (const std::string& shown :
       {text::printable(stray), text::in_line(stray), text::in_sentence(stray)})
    expect(is_valid(shown) && text::printable(shown) == shown, "a printable text that is none");
  expect(text::in_line(stray).find_first_of("\n\t") == std::string::npos, "a line with an end");
  for (const std::size_t bytes : {0, 1, 2, 3, 7, 60})
    expect(text::cut_utf8(valid, bytes).size() <= bytes && is_valid(text::cut_utf8(valid, bytes)),
           "a text that is cut within a character");
  (void)text::display_width(valid);
  for (const std::size_t width : {1, 20, 90}) (void)text::wrap(valid, width);
  (void)text::columns({{valid, "b"}, {"c", valid}});
  (void)text::split_words(stray);
  (void)options::shell_quoted(stray);
  const std::vector<std::string> parts = {stray, "b", stray};
  const std::string escaped = text::escaped(stray, ',');
  expect(text::split(escaped + ",b," + escaped, ',') == parts, "parts that are not split again");
}

}  // namespace

Target utf8() { return {"utf8", run, nullptr}; }

}  // namespace popflow::fuzz
