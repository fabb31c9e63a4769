#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "file/trajectory_writer.hpp"

namespace popflow {

/// Returns the checksum of HDF5's metadata: Bob Jenkins' hash "lookup3" with the start value 0.
[[nodiscard]] std::uint32_t metadata_checksum(std::string_view bytes);
constexpr std::size_t kChecksumBytes = 4;

/// Overwrites bytes by those of a number. Files are little-endian, as this machine is.
template <class Number>
void put_at(std::string& bytes, std::size_t position, Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bytes.data() + position, &number, sizeof number);
}

/// Attributes of fixed size in a file that this process laid out, with the bytes of the blocks that
/// contain them. A block lies within one page of the file and ends with its checksum.
class AttributeBlocks {
 public:
  struct Field {
    std::string group;
    std::string name;
    enum class Kind { text, float64, int64 } kind = Kind::text;
    std::size_t block = 0;  ///< index
    std::size_t start = 0;  ///< first byte of the value in the block
    std::size_t size = 0;   ///< bytes of the value
  };
  struct Block {
    std::uint64_t offset = 0;  ///< in the file
    std::string bytes;
  };
  std::vector<Field> fields;
  std::vector<Block> blocks;

  /// Rewrites attributes, each block by one write. Returns false, with the file unchanged, if an
  /// attribute is unknown or if a block in the file is no longer the one that was written last.
  /// Throws OutputError that names `path`.
  [[nodiscard]] bool rewrite(int descriptor, const std::string& path,
                             const std::vector<TrajectoryWriter::AttributeChange>& changes);
};

}  // namespace popflow
