#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace popflow::model {

/// A set of samples in a file beside the plug-in, mapped into memory. The file NAME.samples has a
/// header of 128 bytes, then rows of doubles: a row for each sample.
class StoredSamples {
 public:
  struct Header {
    char magic[16];
    std::uint64_t train, test, columns;
    std::uint64_t checksum;  ///< sum of the numbers' bits, number i times 2 i + 1
    char name[32];
    char rest[48];
  };

  /// `name` lies in the plug-in, so that its address tells where the plug-in is.
  StoredSamples(const char* name, std::uint64_t train, std::uint64_t test, std::uint64_t columns,
                std::uint64_t checksum) {
    char path[4096];
    Dl_info info{};
    const char* library = dladdr(name, &info) != 0 ? info.dli_fname : "";
    const char* const end = std::strrchr(library, '/');
    const int length = end == nullptr ? 0 : static_cast<int>(end + 1 - library);
    (void)std::snprintf(path, sizeof(path), "%.*s%s.samples", length, library, name);
    const std::size_t count = (train + test) * columns;
    const std::size_t bytes = sizeof(Header) + count * sizeof(double);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      refuse(path, "is missing");
      return;
    }
    struct stat status {};
    void* mapped = MAP_FAILED;
    const bool fits =
        fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == bytes;
    if (fits) mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    (void)close(file);
    if (!fits || mapped == MAP_FAILED) {
      refuse(path, fits ? "cannot be mapped into memory" : "has another size than the model's");
      return;
    }
    Header header;
    std::memcpy(&header, mapped, sizeof(header));
    const auto* const rows =
        reinterpret_cast<const double*>(static_cast<const char*>(mapped) + sizeof(Header));
    if (std::memcmp(header.magic, "popflow samples\n", 16) != 0 || header.train != train ||
        header.test != test || header.columns != columns || header.checksum != checksum ||
        std::strncmp(header.name, name, sizeof(header.name)) != 0) {
      refuse(path, "holds other samples than the model's");
      return;
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, rows + i, sizeof(bits));
      sum += bits * (2 * i + 1);
    }
    if (sum != checksum) {
      refuse(path, "is damaged: its numbers have another sum than the model's");
      return;
    }
    rows_ = rows;
  }

  [[nodiscard]] const double* rows() const { return rows_; }
  /// Sentence for the user if the samples cannot be used.
  [[nodiscard]] const char* problem() const { return problem_; }

 private:
  void refuse(const char* path, const char* why) {
    (void)std::snprintf(problem_, sizeof(problem_),
                        "the model's file of samples %s %s: build the model again, or keep the "
                        "plug-in beside its file of samples",
                        path, why);
  }

  const double* rows_ = nullptr;
  char problem_[4400] = {};
};

}  // namespace popflow::model
