#include "file/attribute_blocks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "file/raw_io.hpp"
#include "text/utf8.hpp"

namespace popflow {

namespace {

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

std::uint32_t metadata_checksum(std::string_view bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a;
  std::uint32_t c = a;
  const auto step = [](std::uint32_t& to, std::uint32_t& from, std::uint32_t& next, int bits) {
    to -= from;
    to ^= std::rotl(from, bits);
    from += next;
  };
  while (bytes.size() > 12) {
    a += word_at(bytes.data());
    b += word_at(bytes.data() + 4);
    c += word_at(bytes.data() + 8);
    step(a, c, b, 4);
    step(b, a, c, 6);
    step(c, b, a, 8);
    step(a, c, b, 16);
    step(b, a, c, 19);
    step(c, b, a, 4);
    bytes.remove_prefix(12);
  }
  if (bytes.empty()) return c;
  std::array<char, 12> rest{};
  std::ranges::copy(bytes, rest.begin());
  a += word_at(rest.data());
  b += word_at(rest.data() + 4);
  c += word_at(rest.data() + 8);
  const auto last = [](std::uint32_t& to, std::uint32_t from, int bits) {
    to ^= from;
    to -= std::rotl(from, bits);
  };
  last(c, b, 14);
  last(a, c, 11);
  last(b, a, 25);
  last(c, b, 16);
  last(a, c, 4);
  last(b, a, 14);
  last(c, b, 24);
  return c;
}

bool AttributeBlocks::rewrite(int descriptor, const std::string& path,
                              const std::vector<TrajectoryWriter::AttributeChange>& changes) {
  std::vector<std::string> altered(blocks.size());
  for (const auto& change : changes) {
    const auto field = std::ranges::find_if(
        fields, [&](const Field& f) { return f.group == change.group && f.name == change.name; });
    if (field == fields.end()) return false;
    constexpr std::array kKinds{Field::Kind::text, Field::Kind::float64, Field::Kind::int64};
    if (kKinds.at(change.value.index()) != field->kind) return false;
    std::string& bytes = altered[field->block];
    if (bytes.empty()) bytes = blocks[field->block].bytes;
    if (const auto* text = std::get_if<std::string>(&change.value)) {
      const std::string valid = text::as_utf8(*text);
      std::string value(text::cut_utf8(valid, field->size));
      value.resize(field->size);
      bytes.replace(field->start, field->size, value);
    } else if (const auto* number = std::get_if<double>(&change.value)) {
      put_at(bytes, field->start, *number);
    } else {
      put_at(bytes, field->start, std::get<std::int64_t>(change.value));
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (altered[i].empty()) continue;
    std::string present(blocks[i].bytes.size(), '\0');
    const ssize_t got =
        pread(descriptor, present.data(), present.size(), static_cast<off_t>(blocks[i].offset));
    if (got != static_cast<ssize_t>(present.size()) || present != blocks[i].bytes) return false;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::string& bytes = altered[i];
    if (bytes.empty()) continue;
    const std::size_t covered = bytes.size() - kChecksumBytes;
    put_at(bytes, covered, metadata_checksum({bytes.data(), covered}));
    write_at(descriptor, blocks[i].offset, bytes.data(), bytes.size(), path);
    blocks[i].bytes = std::move(bytes);
  }
  return true;
}

}  // namespace popflow
