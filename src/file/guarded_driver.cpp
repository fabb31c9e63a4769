#include "file/guarded_driver.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "popflow/error.hpp"

namespace popflow::hdf5 {

namespace {

// Format of a global heap collection (HDF5 File Format Specification, III.E):
// - header: "GCOL", version, 3 reserved bytes, size of the collection
// - objects, each: index, reference count, 4 reserved bytes, size of the data, and the data padded
// to
//   8 bytes
// Object 0 is the free space at the end; its size includes its header.
constexpr std::string_view kHeapSignature{"GCOL\1", 5};
constexpr std::size_t kHeader = 16;

/// Upper bound, far above any heap: HDF5 starts a new one every few kB, or for one large text.
constexpr std::uint64_t kMostHeapBytes = std::uint64_t{1} << 32;

/// Open file as HDF5 holds it; HDF5 knows the object by its first member.
struct OpenFile {
  H5FD_t base;
  int descriptor;
  haddr_t allocated;
  haddr_t size;
};
static_assert(std::is_standard_layout_v<OpenFile>);

OpenFile& of(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file); }
const OpenFile& of(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file); }

/// Reads the bytes that exist; bytes beyond the end of the file read as zeros.
bool read_at(const OpenFile& file, haddr_t at, std::size_t bytes, unsigned char* to) {
  while (bytes > 0) {
    const ssize_t got = pread(file.descriptor, to, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      std::memset(to, 0, bytes);
      return true;
    }
    to += got;
    at += static_cast<haddr_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::uint64_t number_at(const unsigned char* bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);  // the format and the machine are little-endian
  return number;
}

/// Returns whether the objects of a collection stay within it.
bool is_sound_heap(const std::vector<unsigned char>& heap) {
  std::size_t at = kHeader;
  while (at + kHeader <= heap.size()) {
    const unsigned index = heap[at] + 256U * heap[at + 1];
    const std::uint64_t size = number_at(&heap[at + 8]);
    const std::size_t left = heap.size() - at;
    if (index == 0) return size >= kHeader && size <= left;
    if (size > left - kHeader) return false;
    at += kHeader + (size + 7) / 8 * 8;
  }
  return at <= heap.size();
}

/// Returns whether the bytes read at `at` are no heap, or a sound one.
bool passes(const OpenFile& file, haddr_t at, std::size_t bytes, const unsigned char* read) {
  if (bytes < kHeader || std::memcmp(read, kHeapSignature.data(), kHeapSignature.size()) != 0)
    return true;
  const std::uint64_t size = number_at(read + 8);
  if (size < kHeader || at > file.size || size > file.size - at || size > kMostHeapBytes) {
    return false;
  }
  std::vector<unsigned char> heap(size);
  return read_at(file, at, heap.size(), heap.data()) && is_sound_heap(heap);
}

// ---- Functions that HDF5 calls. No exception may pass through HDF5.

/// Opens the file behind the descriptor in `access`; the name is only for messages.
H5FD_t* open_file(const char* /*name*/, unsigned flags, hid_t access, haddr_t /*most*/) noexcept {
  const auto* given = static_cast<const int*>(H5Pget_driver_info(access));
  if ((flags & H5F_ACC_RDWR) != 0 || given == nullptr) return nullptr;
  const int descriptor = fcntl(*given, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  auto* file = new (std::nothrow) OpenFile{};
  if (file == nullptr || fstat(descriptor, &status) != 0) {
    delete file;
    ::close(descriptor);
    return nullptr;
  }
  file->descriptor = descriptor;
  file->size = static_cast<haddr_t>(status.st_size);
  return &file->base;
}

herr_t close_file(H5FD_t* file) noexcept {
  ::close(of(file).descriptor);
  delete &of(file);
  return 0;
}

/// Treats any two open files as different: HDF5 would let equal ones share cached contents, so that
/// a reader would see an earlier state of the file.
int compare(const H5FD_t* a, const H5FD_t* b) noexcept { return std::less<>()(a, b) ? -1 : 1; }

herr_t query(const H5FD_t* /*file*/, unsigned long* flags) noexcept {
  if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t allocated(const H5FD_t* file, H5FD_mem_t /*type*/) noexcept { return of(file).allocated; }

herr_t set_allocated(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t to) noexcept {
  of(file).allocated = to;
  return 0;
}

haddr_t size(const H5FD_t* file, H5FD_mem_t /*type*/) noexcept { return of(file).size; }

herr_t read(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t at, std::size_t bytes,
            void* to) noexcept {
  auto* const out = static_cast<unsigned char*>(to);
  try {
    return read_at(of(file), at, bytes, out) && passes(of(file), at, bytes, out) ? 0 : -1;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

herr_t write(H5FD_t* /*file*/, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t /*at*/,
             std::size_t /*bytes*/, const void* /*from*/) noexcept {
  return -1;
}

H5FD_class_t make_class() {
  constexpr H5FD_mem_t kMap[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION  // HDF5 1.14: a version, and a number from the range free for general use
  driver.version = H5FD_CLASS_VERSION;
  driver.value = H5_VFD_RESERVED;
#endif
  driver.name = "popflow_guarded";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fapl_size = sizeof(int);
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = allocated;
  driver.set_eoa = set_allocated;
  driver.get_eof = size;
  driver.read = read;
  driver.write = write;
  std::ranges::copy(kMap, driver.fl_map);
  return driver;
}

}  // namespace

Handle open_guarded(int descriptor, const std::string& path) {
  // Tests for a free descriptor first, because HDF5 would call the file damaged if there is none.
  const int spare = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (spare < 0)
    throw InputError("the file '" + path + "' cannot be read: " + std::strerror(errno));
  ::close(spare);
  static const H5FD_class_t driver = make_class();
  static const hid_t id = check(H5FDregister(&driver));
  const Handle access = file_access();
  check(H5Pset_driver(access, id, &descriptor));
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose};
}

}  // namespace popflow::hdf5
