#include "file/reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "file/guarded_driver.hpp"
#include "file/raw_io.hpp"

namespace popflow::hdf5 {

namespace {

/// Deflate, the strongest of the usual compressions, packs at most about 1030 bytes into one.
constexpr double kMostCompression = 1100;

/// Bytes in memory of what may never have been written, and reads as a fill value all the same.
constexpr double kMostUnwritten = 1e8;

// What nobody has announced may take this much memory: enough for anything small, and for matrices
// that are mostly zeros and compressed. Bombs are compressed a thousand times.
constexpr double kFreeBytes = 64.0 * 1024 * 1024;
constexpr double kBytesPerByte = 64;

/// Bytes of a text that is shown; more is cut. Texts that are parsed may be longer, and are refused
/// if they are longer than that.
constexpr std::size_t kShownText = 65'536;
constexpr std::size_t kConfigText = 1'048'576;
constexpr std::size_t kLabelsText = std::size_t{64} << 20;

/// Bytes of memory that Reader::try_reading() takes, unless one chunk needs more.
constexpr double kTryBytes = 4.0 * 1024 * 1024;

double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// What a dataset of another type than numbers holds.
const char* contents_of(H5T_class_t type) {
  switch (type) {
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "a table of compound records";
    case H5T_REFERENCE:
      return "references";
    case H5T_VLEN:
      return "rows of varying length";
    default:
      return "another type";
  }
}

bool is_whole(H5T_class_t type) { return type == H5T_INTEGER || type == H5T_ENUM; }

/// Whole numbers of up to 64 bits.
bool is_plain_integer(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  const int offset = H5Tget_offset(type);
  return bits >= 8 && bits <= 64 && offset >= 0 && H5Tget_precision(type) >= 1 &&
         H5Tget_precision(type) + static_cast<std::size_t>(offset) <= bits;
}

/// Floating-point numbers whose sign, exponent and mantissa lie side by side within their bytes.
bool is_plain_float(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  std::size_t sign = 0;
  std::size_t exponent = 0;
  std::size_t exponent_bits = 0;
  std::size_t mantissa = 0;
  std::size_t mantissa_bits = 0;
  if (bits < 8 || bits > 128) return false;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0) {
    return false;
  }
  const auto order = H5Tget_order(type);
  return (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && sign < bits && exponent_bits >= 2 &&
         exponent_bits <= 15 && mantissa_bits >= 1 && mantissa_bits < bits &&
         exponent + exponent_bits <= sign && mantissa + mantissa_bits <= exponent;
}

/// Numbers of a kind that the library converts without surprises.
bool is_plain_number(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return is_plain_integer(type);
    case H5T_ENUM:
      return is_plain_integer(Handle(H5Tget_super(type), H5Tclose));
    case H5T_FLOAT:
      return is_plain_float(type);
    default:
      return false;
  }
}

using Names = std::vector<std::string>;

/// A name with its place in the order of creation, as far as the file keeps that.
struct Entry {
  std::int64_t order;
  std::string name;
};

template <class Info>
herr_t collect(hid_t /*location*/, const char* name, const Info* info, void* data) noexcept {
  const std::int64_t order = info->corder_valid ? info->corder : 0;
  static_cast<std::vector<Entry>*>(data)->push_back({order, name});
  return 0;
}

struct Link {
  std::string name;
  H5L_type_t type;
  haddr_t address;
};

herr_t collect_link(hid_t /*group*/, const char* name, const H5L_info_t* info,
                    void* data) noexcept {
  const haddr_t address = info->type == H5L_TYPE_HARD ? info->u.address : HADDR_UNDEF;
  static_cast<std::vector<Link>*>(data)->push_back({name, info->type, address});
  return 0;
}

/// What cannot be read is found again, and said, by the one who needs it.
template <class Action>
void attempt(Action action) {
  try {
    action();
  } catch (const LeadsElsewhere&) {
    throw;
  } catch (const Failure& failure) {
    if (failure.memory) throw;
  } catch (const InputError&) {
  } catch (const std::length_error&) {
  }
}

/// The names that `iterate` goes through, in the order of creation, or by name in files of others
/// that did not keep it. They are sorted here, since HDF5's sorting crashes on some damaged files.
/// What cannot be shown (control characters, or not UTF-8) is no name of anything that we could
/// want.
template <class Iterate>
Names in_order(Iterate iterate) {
  std::vector<Entry> entries;
  check(iterate(&entries));
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tie(e.order, e.name); });
  Names names;
  for (Entry& entry : entries) {
    if (in_sentence(entry.name) == entry.name) names.push_back(std::move(entry.name));
  }
  return names;
}

Names names_of_attributes(hid_t object) {
  return in_order([&](std::vector<Entry>* found) {
    return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect<H5A_info_t>, found);
  });
}

Names names_of_links(hid_t group) {
  return in_order([&](std::vector<Entry>* found) {
    return H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect<H5L_info_t>, found);
  });
}

double count_of(const std::vector<std::size_t>& shape) {
  double count = 1;
  for (const std::size_t size : shape) count *= static_cast<double>(size);
  return count;
}

std::string in_words(const std::vector<std::size_t>& shape) {
  std::string words;
  for (const std::size_t size : shape) words += (words.empty() ? "" : ", ") + std::to_string(size);
  return "(" + words + ")";
}

/// The chunk's sizes; nothing if a chunk is larger than a dataset that cannot grow. HDF5 makes none
/// such, and reads beyond its memory if it finds one.
std::optional<std::vector<hsize_t>> chunk_of(const Dataset& data) {
  const auto rank = data.shape.size();
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  std::array<hsize_t, H5S_MAX_RANK> most{};
  if (H5Pget_chunk(data.properties, static_cast<int>(rank), chunk.data()) !=
      static_cast<int>(rank)) {
    return std::nullopt;
  }
  check(H5Sget_simple_extent_dims(data.space, nullptr, most.data()));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (chunk[axis] == 0 || (most[axis] != H5S_UNLIMITED && chunk[axis] > most[axis])) {
      return std::nullopt;
    }
  }
  return std::vector<hsize_t>(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(rank));
}

double bytes_of_chunk(const std::vector<hsize_t>& chunk, const Dataset& data) {
  auto bytes = static_cast<double>(H5Tget_size(data.type));
  for (const hsize_t size : chunk) bytes *= static_cast<double>(size);
  return bytes;
}

/// The rows of a matrix that is stored column by column.
template <class Number>
void to_rows(const std::vector<Number>& columns, std::size_t rows, Number* out) {
  const std::size_t width = columns.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; ++i) out[row * width + i] = columns[i * rows + row];
  }
}

/// Reads the block of a dataset, in the axes of the file, row-major.
void read_block(const Dataset& data, const std::vector<hsize_t>& start,
                const std::vector<hsize_t>& extent, double* out) {
  Handle memory(H5Screate(H5S_SCALAR), H5Sclose);
  if (!extent.empty()) {
    memory =
        Handle(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(data.space, H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                              nullptr));
  }
  check(H5Dread(data.id, H5T_NATIVE_DOUBLE, memory, data.space, H5P_DEFAULT, out));
}

/// Moves on to the next block of `extent`; false after the last.
bool advance(std::vector<hsize_t>& start, const std::vector<hsize_t>& extent,
             const std::vector<hsize_t>& whole) {
  for (std::size_t axis = start.size(); axis-- > 0;) {
    start[axis] += extent[axis];
    if (start[axis] < whole[axis]) return true;
    start[axis] = 0;
  }
  return false;
}

std::string attribute_label(const std::string& owner, const std::string& name) {
  return "the attribute '" + in_sentence(name) + "'" +
         (owner.empty() || owner == "/" ? "" : " of '" + in_sentence(owner) + "'");
}

bool is_fixed_text(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && check(H5Tis_variable_str(type)) == 0;
}

/// Has the dataset the mark of a dimension scale? (H5DSis_scale() would free memory twice on some.)
bool is_scale(hid_t dataset) {
  constexpr std::string_view kMark = "DIMENSION_SCALE";
  if (check(H5Aexists(dataset, "CLASS")) == 0) return false;
  const OpenAttribute attribute(dataset, "CLASS");
  const std::size_t size = H5Tget_size(attribute.type);
  if (!is_fixed_text(attribute.type) || attribute.count != 1 || size < kMark.size() || size > 64) {
    return false;
  }
  std::array<char, 64> text{};
  check(H5Aread(attribute.id, attribute.type, text.data()));
  return std::string_view(text.data(), size).starts_with(kMark);
}

/// Where the first scale of each axis is; HADDR_UNDEF where there is none. Of the dataset's list
/// only: what H5DSiterate_scales() and its like take for granted is asked for first, and nothing is
/// read where the list says.
std::vector<haddr_t> first_scales(const Dataset& data) {
  constexpr const char* kList = "DIMENSION_LIST";
  const std::size_t rank = data.shape.size();
  std::vector<haddr_t> scales(rank, HADDR_UNDEF);
  if (check(H5Aexists(data.id, kList)) == 0) return scales;
  const OpenAttribute list(data.id, kList);
  if (H5Tget_class(list.type) != H5T_VLEN || list.count != static_cast<hssize_t>(rank)) {
    return scales;
  }
  const Handle element(H5Tget_super(list.type), H5Tclose);
  if (check(H5Tequal(element, H5T_STD_REF_OBJ)) == 0) return scales;
  const Handle memory(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  std::vector<hvl_t> rows(rank, hvl_t{0, nullptr});
  check(H5Aread(list.id, memory, rows.data()));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (rows[axis].len > 0 && rows[axis].p != nullptr) {
      scales[axis] = *static_cast<const hobj_ref_t*>(rows[axis].p);
    }
  }
  check(H5Dvlen_reclaim(memory, list.space, H5P_DEFAULT, rows.data()));
  return scales;
}

/// Bytes of the text of an attribute that are taken, and whether more is an error.
std::pair<std::size_t, bool> most_text(const std::string& name) {
  if (name == "config") return {kConfigText, true};
  if (name == "labels") return {kLabelsText, true};
  return {kShownText, false};
}

}  // namespace

OpenAttribute::OpenAttribute(hid_t object, const std::string& name)
    : id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose),
      type(H5Aget_type(id), H5Tclose),
      space(H5Aget_space(id), H5Sclose),
      count(check(H5Sget_simple_extent_npoints(space))) {}

Reader::Reader(int descriptor, std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw Failure(system_reason(errno));
  bytes_ = static_cast<double>(status.st_size);
  file_ = open_guarded(descriptor, path_);
}

InputError Reader::error(const std::string& sentence) const {
  return InputError("the file '" + path_ + "': " + sentence);
}

InputError Reader::too_large(const std::string& name) const {
  return error("'" + in_sentence(name) + "' does not fit into the memory");
}

LeadsElsewhere Reader::leads_elsewhere(const std::string& name, H5L_type_t type) const {
  const std::string what = type == H5L_TYPE_EXTERNAL
                               ? "is a link into another file"
                               : "is a link of a kind that only its maker can follow";
  return LeadsElsewhere("the file '" + path_ + "': '" + in_sentence(name) + "' " + what +
                        "; popflow reads no file by way of another one. What is needed must be in "
                        "the file itself");
}

const std::vector<Reader::Object>& Reader::objects() const {
  if (objects_) return *objects_;
  std::vector<Object> found = {{"", H5O_TYPE_GROUP, HADDR_UNDEF}};
  H5O_info_t root;
  check(H5Oget_info2(file_, &root, H5O_INFO_BASIC));
  found.front().address = root.addr;
  std::set<haddr_t> seen = {root.addr};
  // What is found is appended, and looked at in its turn: however deep the groups are nested.
  for (std::size_t next = 0; next < found.size(); ++next) {
    if (found[next].type != H5O_TYPE_GROUP) continue;
    const std::string group = found[next].path;
    std::vector<Link> links;
    check(H5Literate_by_name(file_, group.empty() ? "/" : group.c_str(), H5_INDEX_NAME,
                             H5_ITER_NATIVE, nullptr, collect_link, &links, H5P_DEFAULT));
    for (const Link& link : links) {
      const std::string path = group.empty() ? link.name : group + "/" + link.name;
      if (link.type >= H5L_TYPE_UD_MIN) throw leads_elsewhere(path, link.type);
      if (link.type != H5L_TYPE_HARD || !seen.insert(link.address).second) continue;
      H5O_info_t info;
      if (H5Oget_info_by_name2(file_, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        continue;
      if (info.addr == link.address) found.push_back({path, info.type, info.addr});
    }
  }
  objects_ = std::move(found);
  return *objects_;
}

H5O_type_t Reader::type_at(const std::string& name) const {
  const auto known = types_.find(name);
  if (known != types_.end()) return known->second;
  const H5O_type_t type = find_type(name);
  if (type != H5O_TYPE_UNKNOWN) types_.emplace(name, type);
  return type;
}

H5O_type_t Reader::find_type(const std::string& name) const {
  // HDF5 wants every part of the path to exist before it asks for the next.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string part = name.substr(0, end);
    if (part.empty() || part == "/") continue;
    if (H5Lexists(file_, part.c_str(), H5P_DEFAULT) <= 0) return H5O_TYPE_UNKNOWN;
    H5L_info_t link;
    if (H5Lget_info(file_, part.c_str(), &link, H5P_DEFAULT) < 0) return H5O_TYPE_UNKNOWN;
    if (link.type >= H5L_TYPE_UD_MIN) throw leads_elsewhere(part, link.type);
    if (H5Oexists_by_name(file_, part.c_str(), H5P_DEFAULT) <= 0) return H5O_TYPE_UNKNOWN;
  }
  H5O_info_t info;
  const std::string whole = name.empty() ? "/" : name;
  if (H5Oget_info_by_name2(file_, whole.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return H5O_TYPE_UNKNOWN;
  }
  return info.type;
}

Handle Reader::object(const std::string& name) const {
  const H5O_type_t type = type_at(name);
  if (type != H5O_TYPE_GROUP && type != H5O_TYPE_DATASET) {
    throw error("there is no '" + in_sentence(name) + "' in it");
  }
  return open_object(file_, name);
}

const Dataset& Reader::dataset(const std::string& name) const {
  if (dataset_ && dataset_->first == name) return dataset_->second;
  const H5O_type_t found = type_at(name);
  if (found == H5O_TYPE_UNKNOWN)
    throw error("there is no dataset '" + in_sentence(name) + "' in it");
  if (found != H5O_TYPE_DATASET) throw error("'" + in_sentence(name) + "' is not a dataset");
  Dataset data = open_dataset(name);
  if (H5Sget_simple_extent_type(data.space) == H5S_NULL) {
    throw error("the dataset '" + in_sentence(name) + "' is empty");
  }
  return dataset_.emplace(name, std::move(data)).second;
}

Dataset Reader::open_dataset(const std::string& name) const {
  Dataset dataset;
  dataset.id = open_object(file_, name);
  // First of all: to ask for the size of a virtual dataset opens the files that it is made of.
  dataset.properties = Handle(H5Dget_create_plist(dataset.id), H5Pclose);
  dataset.layout = H5Pget_layout(dataset.properties);
  const bool is_virtual = dataset.layout == H5D_VIRTUAL;
  if (is_virtual || check(H5Pget_external_count(dataset.properties)) > 0) {
    throw LeadsElsewhere("the file '" + path_ + "': the numbers of '" + in_sentence(name) +
                         "' are " +
                         (is_virtual ? "those of other datasets (it is a virtual one)"
                                     : "in another file (external storage)") +
                         "; popflow reads no file by way of another one. 'h5repack -l CONTI OLD "
                         "NEW' puts them into the file itself");
  }
  dataset.type = Handle(H5Dget_type(dataset.id), H5Tclose);
  dataset.kind = H5Tget_class(dataset.type);
  dataset.space = space_of(dataset.id);
  std::array<hsize_t, H5S_MAX_RANK> extent{};
  const int rank = check(H5Sget_simple_extent_dims(dataset.space, extent.data(), nullptr));
  dataset.shape.assign(extent.begin(), extent.begin() + rank);
  if (rank == 2 && check(H5Aexists(dataset.id, "MATLAB_class")) > 0) {
    dataset.by_columns = true;
    std::swap(dataset.shape[0], dataset.shape[1]);
  }
  return dataset;
}

const Dataset& Reader::numbers(const std::string& name) const {
  const Dataset& data = dataset(name);
  require_numbers(data, name);
  return data;
}

void Reader::require_numbers(const Dataset& data, const std::string& name) const {
  // MATLAB stores text as numbers with a note.
  const bool note = check(H5Aexists(data.id, "MATLAB_class")) > 0;
  const bool text = note && text_of({data.id, "MATLAB_class"}, name, "MATLAB_class") == "char";
  if (text || !(is_whole(data.kind) || data.kind == H5T_FLOAT)) {
    throw error("the dataset '" + in_sentence(name) + "' holds " +
                (text ? "text" : contents_of(data.kind)) + ", not numbers");
  }
  if (!is_plain_number(data.type)) {
    throw error("the dataset '" + in_sentence(name) +
                "' holds numbers of an unusual type; those of up to 64 bits are read");
  }
}

void Reader::require(const Dataset& data, const std::string& name, const Expected& expected) const {
  if (expected.shape && *expected.shape != data.shape) {
    throw error("the dataset '" + in_sentence(name) + "' has shape " + in_words(data.shape) +
                "; it must be " + in_words(*expected.shape));
  }
  if (expected.most && count_of(data.shape) > static_cast<double>(*expected.most)) {
    throw error("the dataset '" + in_sentence(name) + "' has shape " + in_words(data.shape) +
                "; it may have " + std::to_string(*expected.most) + " elements at most");
  }
}

void Reader::check_size(const Dataset& data, const std::string& name, double bytes,
                        const Expected& expected) const {
  const double count = count_of(data.shape);
  const double declared = count * static_cast<double>(H5Tget_size(data.type));
  const auto stored = static_cast<double>(H5Dget_storage_size(data.id));
  const double most = kFreeBytes + kBytesPerByte * bytes_;
  bool sound = stored <= bytes_;
  bool modest = expected.anything() || bytes <= most;
  if (data.layout == H5D_CHUNKED) {
    const auto chunk = chunk_of(data);
    sound = sound && chunk;
    modest = modest && chunk && bytes_of_chunk(*chunk, data) <= most;
  } else if (stored > 0 || data.layout == H5D_COMPACT) {
    sound = sound && declared <= stored;
  }
  if (!sound) {
    throw error("it is damaged: the dataset '" + in_sentence(name) + "' is larger than the file");
  }
  if (!modest || (declared > kMostCompression * stored && 8 * count > kMostUnwritten)) {
    throw error(
        "the dataset '" + in_sentence(name) +
        "' declares far more numbers than the file holds; if it is compressed, 'h5repack -f "
        "NONE OLD NEW' unpacks it");
  }
  if (bytes > physical_memory()) throw too_large(name);
}

DataArray Reader::read(const std::string& name, const Expected& expected) const {
  const Dataset& data = numbers(name);
  require(data, name, expected);
  const bool whole = is_whole(data.kind);
  check_size(data, name, (whole ? 16 : 8) * count_of(data.shape), expected);
  DataArray array;
  array.shape = data.shape;
  const auto count = static_cast<std::size_t>(count_of(data.shape));
  const auto read_as = [&](hid_t type, void* out) {
    if (count > 0) check(H5Dread(data.id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out));
  };
  if (whole) {
    array.integers.resize(count);
    read_as(H5T_NATIVE_INT64, array.integers.data());
    array.values.assign(array.integers.begin(), array.integers.end());
  } else {
    array.values.resize(count);
    read_as(H5T_NATIVE_DOUBLE, array.values.data());
  }
  if (data.by_columns && count > 0) {
    if (whole) to_rows(std::vector(array.integers), data.shape[0], array.integers.data());
    to_rows(std::vector(array.values), data.shape[0], array.values.data());
  }
  return array;
}

std::vector<double> Reader::read_slab(const std::string& name,
                                      const std::vector<std::size_t>& prefix) const {
  const Dataset& data = numbers(name);
  const std::size_t given = std::min(prefix.size(), data.shape.size());
  const std::vector<std::size_t> rest(data.shape.begin() + static_cast<std::ptrdiff_t>(given),
                                      data.shape.end());
  check_size(data, name, 8 * count_of(rest));
  std::vector<double> values(static_cast<std::size_t>(count_of(rest)));
  read_rows(name, prefix, 0, rest.empty() ? 1 : rest.front(), values.data());
  return values;
}

void Reader::read_rows(const std::string& name, const std::vector<std::size_t>& prefix,
                       std::size_t first, std::size_t count, double* out) const {
  const Dataset& data = numbers(name);
  check_size(data, name, 0);
  std::vector<hsize_t> start(prefix.begin(), prefix.end());
  std::vector<hsize_t> extent(prefix.size(), 1);
  bool inside = prefix.size() <= data.shape.size();
  for (std::size_t i = 0; inside && i < prefix.size(); ++i) inside = prefix[i] < data.shape[i];
  if (inside && prefix.size() < data.shape.size()) {
    const std::size_t rows = data.shape[prefix.size()];
    inside = first <= rows && count <= rows - first;
    start.push_back(first);
    extent.push_back(count);
  } else {
    inside = inside && first == 0 && count == 1;
  }
  if (!inside) {
    throw error("the dataset '" + in_sentence(name) + "' has fewer elements than requested");
  }
  for (std::size_t i = start.size(); i < data.shape.size(); ++i) {
    start.push_back(0);
    extent.push_back(data.shape[i]);
  }
  if (std::ranges::find(extent, hsize_t{0}) != extent.end()) return;
  if (!data.by_columns) {
    read_block(data, start, extent, out);
    return;
  }
  std::swap(start[0], start[1]);
  std::swap(extent[0], extent[1]);
  std::vector<double> columns(extent[0] * extent[1]);
  read_block(data, start, extent, columns.data());
  to_rows(columns, extent[1], out);
}

std::optional<std::string> Reader::text_attribute(const std::string& object_name,
                                                  const std::string& name) const {
  const Handle owner = object(object_name);
  if (check(H5Aexists(owner, name.c_str())) == 0) return std::nullopt;
  const auto [most, refuses] = most_text(name);
  const std::string text = text_of(OpenAttribute(owner, name), object_name, name);
  if (text.size() <= most) return printable(text);
  if (refuses) {
    throw error(attribute_label(object_name, name) + " holds " + std::to_string(text.size()) +
                " bytes of text; at most " + std::to_string(most) + " are read");
  }
  return std::string(cut_utf8(printable(text.substr(0, most)), most)) + "...";
}

std::optional<double> Reader::number_attribute(const std::string& object_name,
                                               const std::string& name) const {
  const Handle owner = object(object_name);
  if (check(H5Aexists(owner, name.c_str())) == 0) return std::nullopt;
  return number_of(OpenAttribute(owner, name), object_name, name);
}

std::string Reader::text_of(const OpenAttribute& attribute, const std::string& owner,
                            const std::string& name) const {
  if (H5Tget_class(attribute.type) != H5T_STRING || attribute.count > 1) {
    throw error(attribute_label(owner, name) + " is not a single text");
  }
  if (attribute.count == 0) return "";
  if (check(H5Tis_variable_str(attribute.type)) > 0) {
    char* text = nullptr;
    const Handle memory(H5Tcopy(attribute.type), H5Tclose);
    check(H5Aread(attribute.id, memory, &text));
    std::string copy = text != nullptr ? text : "";
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(attribute.type);
  // Text in an attribute is part of the file, so it cannot be larger than the file.
  if (static_cast<double>(size) > bytes_) throw too_large(name);
  std::string text(size, '\0');
  check(H5Aread(attribute.id, attribute.type, text.data()));
  text.resize(std::min(text.find('\0'), text.size()));
  if (H5Tget_strpad(attribute.type) == H5T_STR_SPACEPAD) {
    text.resize(text.find_last_not_of(' ') + 1);
  }
  return text;
}

double Reader::number_of(const OpenAttribute& attribute, const std::string& owner,
                         const std::string& name) const {
  if (!is_plain_number(attribute.type) || attribute.count != 1) {
    throw error(attribute_label(owner, name) + " is not a single number");
  }
  if (is_whole(H5Tget_class(attribute.type))) {
    std::int64_t number = 0;
    check(H5Aread(attribute.id, H5T_NATIVE_INT64, &number));
    return static_cast<double>(number);
  }
  double number = 0;
  check(H5Aread(attribute.id, H5T_NATIVE_DOUBLE, &number));
  return number;
}

std::vector<std::string> Reader::attribute_names(const std::string& object_name) const {
  return names_of_attributes(object(object_name));
}

std::vector<std::string> Reader::members(const std::string& group) const {
  const H5O_type_t type = type_at(group);
  if (type == H5O_TYPE_UNKNOWN) throw error("there is no '" + in_sentence(group) + "' in it");
  if (type != H5O_TYPE_GROUP) throw error("'" + in_sentence(group) + "' is not a group");
  Names names = names_of_links(open_object(file_, group));
  // Dangling links do not count as members.
  std::erase_if(names, [&](const std::string& name) {
    return type_at(group.empty() ? name : group + "/" + name) == H5O_TYPE_UNKNOWN;
  });
  return names;
}

std::string Reader::name_at(haddr_t address) const {
  if (address == HADDR_UNDEF) return "";
  const auto found = std::ranges::find(objects(), address, &Object::address);
  return found == objects().end() ? ""
                                  : in_sentence(found->path.substr(found->path.rfind('/') + 1));
}

std::vector<std::string> Reader::dimensions(const std::string& name) const {
  return dimensions_of(dataset(name), name);
}

std::vector<std::string> Reader::dimensions_of(const Dataset& data, const std::string& name) const {
  if (data.shape.size() == 1 && is_scale(data.id)) {
    return {in_sentence(name.substr(name.rfind('/') + 1))};
  }
  Names names;
  for (const haddr_t scale : first_scales(data)) names.push_back(name_at(scale));
  return names;
}

void Reader::require_whole(const Object& object) const {
  if (object.type != H5O_TYPE_DATASET) return;
  attempt([&] { static_cast<void>(open_dataset(object.path)); });
}

void Reader::try_attributes(hid_t object, const std::string& owner) const {
  Names names;
  attempt([&] { names = names_of_attributes(object); });
  for (const std::string& name : names) {
    attempt([&] {
      const OpenAttribute attribute(object, name);
      if (H5Tget_class(attribute.type) == H5T_STRING) {
        static_cast<void>(text_of(attribute, owner, name));
      } else {
        static_cast<void>(number_of(attribute, owner, name));
      }
    });
  }
}

void Reader::try_group(const Object& group) const {
  attempt([&] {
    const Handle object = open_object(file_, group.path);
    try_attributes(object, group.path);
  });
}

void Reader::try_dataset(const Object& object, std::clock_t until) const {
  attempt([&] {
    const Dataset data = open_dataset(object.path);
    try_attributes(data.id, object.path);
    attempt([&] { static_cast<void>(dimensions_of(data, object.path)); });
    attempt([&] { try_reading(data, object.path, until); });
  });
}

void Reader::try_reading(const Dataset& data, const std::string& name, std::clock_t until) const {
  require_numbers(data, name);
  if (H5Sget_simple_extent_type(data.space) == H5S_NULL) return;
  check_size(data, name, 0);
  std::vector<hsize_t> whole(data.shape.begin(), data.shape.end());
  if (data.by_columns) std::swap(whole[0], whole[1]);
  if (std::ranges::find(whole, hsize_t{0}) != whole.end()) return;
  // Numbers that lie in one piece are read as they are.
  if (data.layout == H5D_CONTIGUOUS) return;
  std::vector<hsize_t> extent = whole;
  if (data.layout == H5D_CHUNKED) {
    // Whole chunks, several together along the last axes if they are small.
    const auto chunk = chunk_of(data);
    extent = *chunk;
    double bytes = bytes_of_chunk(*chunk, data) * 8 / static_cast<double>(H5Tget_size(data.type));
    if (bytes > kFreeBytes) return;
    for (std::size_t axis = extent.size(); axis-- > 0;) {
      const auto times = static_cast<hsize_t>(std::max(1.0, std::floor(kTryBytes / bytes)));
      const hsize_t chunks = (whole[axis] - 1) / extent[axis] + 1;
      extent[axis] *= std::min(times, chunks);
      bytes *= static_cast<double>(std::min(times, chunks));
      if (times < chunks) break;
    }
  }
  double count = 1;
  for (const hsize_t size : extent) count *= static_cast<double>(size);
  std::vector<double> values(static_cast<std::size_t>(count));
  std::vector<hsize_t> start(whole.size(), 0);
  do {
    std::vector<hsize_t> here = extent;
    for (std::size_t axis = 0; axis < here.size(); ++axis) {
      here[axis] = std::min(here[axis], whole[axis] - start[axis]);
    }
    read_block(data, start, here, values.data());
  } while (data.layout == H5D_CHUNKED && advance(start, extent, whole) && std::clock() < until);
}

Reader open_reader(int descriptor, const std::string& path) {
  try {
    return {descriptor, path};
  } catch (const Failure& failure) {
    const std::string reason = failure.what();
    const bool truncated = reason.find("truncated") != std::string::npos;
    throw InputError("the file '" + path + "' " +
                     (truncated ? "is truncated: a part at its end is missing"
                                : "is damaged or not HDF5: " + reason));
  }
}

}  // namespace popflow::hdf5
