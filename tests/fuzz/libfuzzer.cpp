// Entry points of libFuzzer. The environment variable POPFLOW_FUZZ_TARGET names the target, so that
// processes started by libFuzzer know it too.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fuzz/support.hpp"
#include "fuzz/target.hpp"

namespace popflow::fuzz {
namespace {

const Target& target() {
  static const Target& named = []() -> const Target& {
    const char* name = std::getenv("POPFLOW_FUZZ_TARGET");
    return find_target(name == nullptr ? "" : name);
  }();
  return named;
}

/// Changes whole lines: adds, replaces, removes, doubles or moves one.
std::string with_other_lines(const std::string& text, Random& random) {
  Lines all = lines(text);
  for (auto change = random() % 3 + 1; change > 0; --change) {
    const std::size_t at = all.empty() ? 0 : random() % all.size();
    const auto place = all.begin() + static_cast<std::ptrdiff_t>(at);
    switch (all.empty() ? 0 : random() % 8) {
      case 0:
      case 1:
      case 2: {
        const std::size_t end = all.size();
        all.push_back(target().suggest(random, all, end));
        break;
      }
      case 3:
      case 4:
        *place = target().suggest(random, all, at);
        break;
      case 5:
        all.erase(place);
        break;
      case 6:
        all.push_back(*place);
        break;
      default:
        std::swap(*place, all[random() % all.size()]);
    }
  }
  std::string result;
  for (const std::string& line : all) result += line + '\n';
  return result;
}

}  // namespace
}  // namespace popflow::fuzz

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  (void)popflow::fuzz::target();
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  popflow::fuzz::target().run({reinterpret_cast<const char*>(data), size});
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned seed) {
  popflow::fuzz::Random random(seed);
  random.discard(3);
  if (popflow::fuzz::target().suggest == nullptr || random() % 3 == 0)
    return LLVMFuzzerMutate(data, size, most);
  const std::string before(reinterpret_cast<const char*>(data), size);
  const std::string after = popflow::fuzz::with_other_lines(before, random);
  const std::size_t used = std::min(after.size(), most);
  std::memcpy(data, after.data(), used);
  return used;
}
}
