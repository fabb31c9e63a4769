#include "file/reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "file/guarded_driver.hpp"
#include "file/names.hpp"
#include "file/raw_io.hpp"
#include "popflow/memory.hpp"

namespace popflow::hdf5 {

namespace {

/// Largest ratio of compression: Deflate, the strongest of the usual methods, reaches about 1030.
constexpr double kMostCompression = 1100;

/// Bytes in memory of data that may never have been written, which read as a fill value.
constexpr double kMostUnwritten = 1e8;

// Memory for data of unannounced size: enough for anything small, and for compressed matrices that
// are mostly zeros. Malicious files are compressed a thousandfold.
constexpr double kFreeBytes = 64.0 * 1024 * 1024;
constexpr double kBytesPerByte = 64;

/// Bytes of a text that is shown; longer texts are cut. Texts that are parsed may be longer; above
/// their own limit they are refused.
constexpr std::size_t kShownText = 65'536;
constexpr std::size_t kConfigText = std::size_t{16} << 20;
constexpr std::size_t kLabelsText = std::size_t{64} << 20;

/// Most numbers that an attribute may list as standing for missing values.
constexpr std::size_t kMostMissing = 64;

/// Returns the rows of a matrix that is stored column by column.
template <class Number>
void to_rows(const std::vector<Number>& columns, std::size_t rows, Number* out) {
  const std::size_t width = columns.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; ++i) out[row * width + i] = columns[i * rows + row];
  }
}

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// Returns whether an integer type has numbers above kLargest, which the library would read as it.
bool has_larger_numbers(hid_t type) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE &&
         H5Tget_precision(type) == 64;
}

/// Returns the values as whole numbers; empty unless all are whole and represented exactly.
std::vector<std::int64_t> whole_numbers(const std::vector<double>& values) {
  constexpr double kExact = 9007199254740992;
  const bool all = std::ranges::all_of(
      values, [](double value) { return std::abs(value) <= kExact && std::trunc(value) == value; });
  return all ? std::vector<std::int64_t>(values.begin(), values.end())
             : std::vector<std::int64_t>();
}

std::string attribute_label(const std::string& owner, const std::string& name) {
  return "the attribute '" + text::in_sentence(name) + "'" +
         (owner.empty() || owner == "/" ? "" : " of '" + text::in_sentence(owner) + "'");
}

/// Returns the limit on the text of an attribute, and whether longer text is an error.
std::pair<std::size_t, bool> most_text(const std::string& name) {
  if (name == "config") return {kConfigText, true};
  if (name == "labels") return {kLabelsText, true};
  return {kShownText, false};
}

}  // namespace

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
  return error("'" + text::in_sentence(name) + "' does not fit into memory");
}

LeadsElsewhere Reader::leads_elsewhere(const std::string& name, H5L_type_t type) const {
  const std::string what = type == H5L_TYPE_EXTERNAL ? "is a link into another file"
                                                     : "is a link of a user-defined type";
  return LeadsElsewhere(
      "the file '" + path_ + "': '" + text::in_sentence(name) + "' " + what +
      "; popflow follows no links to other files. Put the data into the file itself");
}

const std::vector<Reader::Object>& Reader::objects() const {
  if (objects_) return *objects_;
  std::vector<Object> found = {{"", H5O_TYPE_GROUP, HADDR_UNDEF}};
  H5O_info_t root;
  check(H5Oget_info2(file_, &root, H5O_INFO_BASIC));
  found.front().address = root.addr;
  std::set<haddr_t> seen = {root.addr};
  // Breadth first: members are appended and visited in turn, however deep the groups are nested.
  for (std::size_t next = 0; next < found.size(); ++next) {
    if (found[next].type != H5O_TYPE_GROUP) continue;
    const std::string group = found[next].path;
    for (const Link& link : links_of(file_, group)) {
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
  // Every link on the way is examined before it is followed.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string part = name.substr(0, end);
    if (part.empty() || part == "/" || types_.contains(part)) continue;
    H5L_info_t link;
    if (H5Lget_info(file_, part.c_str(), &link, H5P_DEFAULT) < 0) return H5O_TYPE_UNKNOWN;
    if (link.type >= H5L_TYPE_UD_MIN) throw leads_elsewhere(part, link.type);
    // Soft links may point nowhere.
    if (link.type != H5L_TYPE_HARD && H5Oexists_by_name(file_, part.c_str(), H5P_DEFAULT) <= 0) {
      return H5O_TYPE_UNKNOWN;
    }
  }
  H5O_info_t info;
  const std::string whole = name.empty() ? "/" : name;
  if (H5Oget_info_by_name2(file_, whole.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return H5O_TYPE_UNKNOWN;
  }
  return info.type;
}

const Handle& Reader::object(const std::string& name) const {
  if (object_ && object_->first == name) return object_->second;
  const H5O_type_t type = type_at(name);
  if (type != H5O_TYPE_GROUP && type != H5O_TYPE_DATASET) {
    throw error("there is no '" + text::in_sentence(name) + "' in it");
  }
  return object_.emplace(name, open_object(file_, name)).second;
}

std::optional<OpenAttribute> Reader::attribute(const std::string& object_name,
                                               const std::string& name) const {
  const Handle& owner = object(object_name);
  if (check(H5Aexists(owner, name.c_str())) == 0) return std::nullopt;
  return std::optional<OpenAttribute>(std::in_place, owner, name);
}

const Dataset& Reader::dataset(const std::string& name) const {
  if (dataset_ && dataset_->first == name) return dataset_->second;
  const H5O_type_t found = type_at(name);
  if (found == H5O_TYPE_UNKNOWN)
    throw error("there is no dataset '" + text::in_sentence(name) + "' in it");
  if (found != H5O_TYPE_DATASET) throw error("'" + text::in_sentence(name) + "' is not a dataset");
  Dataset data = open_dataset(name);
  if (H5Sget_simple_extent_type(data.space) == H5S_NULL) {
    throw error("the dataset '" + text::in_sentence(name) + "' is empty");
  }
  return dataset_.emplace(name, std::move(data)).second;
}

Dataset Reader::open_dataset(const std::string& name) const {
  Dataset dataset;
  dataset.id = open_object(file_, name);
  // The layout is examined before the size, because HDF5 opens the source files of a virtual
  // dataset when asked for its size.
  dataset.properties = Handle(H5Dget_create_plist(dataset.id), H5Pclose);
  dataset.layout = H5Pget_layout(dataset.properties);
  const bool is_virtual = dataset.layout == H5D_VIRTUAL;
  if (is_virtual || check(H5Pget_external_count(dataset.properties)) > 0) {
    throw LeadsElsewhere("the file '" + path_ + "': the numbers of '" + text::in_sentence(name) +
                         "' are " +
                         (is_virtual ? "those of other datasets (it is a virtual one)"
                                     : "in another file (external storage)") +
                         "; popflow follows no links to other files. 'h5repack -l CONTI OLD "
                         "NEW' puts the numbers into the file itself");
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
  if (!data.packing) dataset_->second.packing = packing_of(data, name);
  return data;
}

Packing Reader::packing_of(const Dataset& data, const std::string& name) const {
  const auto there = [&](const char* attribute) {
    return check(H5Aexists(data.id, attribute)) > 0;
  };
  const auto wrong = [&](const std::string& what) {
    return error("the dataset '" + text::in_sentence(name) + "' " + what);
  };
  const auto text_in = [&](const char* attribute) {
    const auto found = there(attribute)
                           ? std::optional<OpenAttribute>(std::in_place, data.id, attribute)
                           : std::nullopt;
    const bool is_text = found && H5Tget_class(found->type) == H5T_STRING;
    return is_text ? text::printable(text_of(*found, name, attribute)) : "";
  };
  constexpr const char* kFix = "; write plain numbers, with units \"1\"";
  if (const std::string units = text_in("units"); units.find(" since ") != std::string::npos)
    throw wrong("has dates, in '" + units + "'" + kFix);
  if (const std::string type = text_in("dtype"); type.starts_with("timedelta64"))
    throw wrong("has durations, of type " + type + kFix);
  Packing packing;
  if (const std::string word = text_in("_Unsigned"); !word.empty()) {
    const bool is_unsigned = word == "true" || word == "True";
    if (!is_unsigned && word != "false" && word != "False")
      throw wrong("has the attribute _Unsigned = '" + word + "'; it must be true or false");
    if (data.kind == H5T_INTEGER && is_unsigned != (H5Tget_sign(data.type) == H5T_SGN_NONE)) {
      packing.wrap = std::ldexp(1.0, static_cast<int>(8 * H5Tget_size(data.type)));
      packing.wrap_from = is_unsigned ? 0 : -packing.wrap / 2;
    }
  }
  const auto numbers_in = [&](const char* attribute, std::size_t most) {
    std::vector<double> found;
    if (there(attribute)) found = *numbers_attribute(name, attribute);
    if (found.size() > most)
      throw wrong("has " + std::to_string(found.size()) + " numbers in its attribute " + attribute +
                  "; there may be at most " + std::to_string(most));
    return found;
  };
  const auto number_in = [&](const char* attribute, double otherwise) {
    const std::vector<double> found = numbers_in(attribute, 1);
    return found.empty() ? otherwise : found.front();
  };
  packing.scale = number_in("scale_factor", 1);
  packing.offset = number_in("add_offset", 0);
  for (const char* attribute : {"_FillValue", "missing_value"})
    for (const double number : numbers_in(attribute, kMostMissing))
      packing.missing.push_back(packing.wrapped(number));
  packing.least = packing.wrapped(number_in("valid_min", packing.least));
  packing.most = packing.wrapped(number_in("valid_max", packing.most));
  if (const auto range = numbers_in("valid_range", 2); range.size() == 2) {
    packing.least = packing.wrapped(range[0]);
    packing.most = packing.wrapped(range[1]);
  }
  if (!std::isfinite(packing.scale) || packing.scale == 0 || !std::isfinite(packing.offset))
    throw wrong("has a scale_factor that is 0 or not finite, or an add_offset that is not finite");
  return packing;
}

void Reader::require_numbers(const Dataset& data, const std::string& name) const {
  // MATLAB stores text as numbers with this attribute.
  const bool note = check(H5Aexists(data.id, "MATLAB_class")) > 0;
  const bool text = note && text_of({data.id, "MATLAB_class"}, name, "MATLAB_class") == "char";
  if (text || !(is_whole(data.kind) || data.kind == H5T_FLOAT)) {
    throw error("the dataset '" + text::in_sentence(name) + "' has " +
                (text ? "text" : contents_of(data.kind)) + ", not numbers");
  }
  if (!is_plain_number(data.type)) {
    throw error("the dataset '" + text::in_sentence(name) +
                "' has numbers of an unusual type; the type must be a whole or floating-point "
                "number of up to 64 bits");
  }
}

void Reader::require(const Dataset& data, const std::string& name, const Expected& expected) const {
  if (expected.shape && *expected.shape != data.shape) {
    throw error("the dataset '" + text::in_sentence(name) + "' has shape " + in_words(data.shape) +
                "; it must be " + in_words(*expected.shape));
  }
  if (expected.most && count_of(data.shape) > static_cast<double>(*expected.most)) {
    throw error("the dataset '" + text::in_sentence(name) + "' has shape " + in_words(data.shape) +
                "; it may have at most " + std::to_string(*expected.most) + " elements");
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
    throw error("it is damaged: the dataset '" + text::in_sentence(name) +
                "' is larger than the file");
  }
  if (!modest || (declared > kMostCompression * stored && 8 * count > kMostUnwritten)) {
    throw error(
        "the dataset '" + text::in_sentence(name) +
        "' declares far more numbers than the file contains; if it is compressed, 'h5repack -f "
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
    if (has_larger_numbers(data.type) &&
        std::ranges::find(array.integers, kLargest) != array.integers.end()) {
      array.integers.clear();
      read_as(H5T_NATIVE_DOUBLE, array.values.data());
    }
  } else {
    array.values.resize(count);
    read_as(H5T_NATIVE_DOUBLE, array.values.data());
  }
  if (!data.packing->plain()) {
    data.packing->unpack(array.values);
    array.integers = whole ? whole_numbers(array.values) : std::vector<std::int64_t>();
  }
  if (data.by_columns && count > 0) {
    if (!array.integers.empty())
      to_rows(std::vector(array.integers), data.shape[0], array.integers.data());
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
    throw error("the dataset '" + text::in_sentence(name) + "' has fewer elements than requested");
  }
  for (std::size_t i = start.size(); i < data.shape.size(); ++i) {
    start.push_back(0);
    extent.push_back(data.shape[i]);
  }
  if (std::ranges::find(extent, hsize_t{0}) != extent.end()) return;
  const auto all = std::accumulate(extent.begin(), extent.end(), hsize_t{1}, std::multiplies<>());
  if (!data.by_columns) {
    read_block(data, start, extent, out);
  } else {
    std::swap(start[0], start[1]);
    std::swap(extent[0], extent[1]);
    std::vector<double> columns(all);
    read_block(data, start, extent, columns.data());
    to_rows(columns, extent[1], out);
  }
  if (!data.packing->plain()) data.packing->unpack({out, static_cast<std::size_t>(all)});
}

std::optional<std::string> Reader::text_attribute(const std::string& object_name,
                                                  const std::string& name) const {
  const auto found = attribute(object_name, name);
  if (!found) return std::nullopt;
  const auto [most, refuses] = most_text(name);
  const std::string text = text_of(*found, object_name, name);
  if (text.size() <= most) return text::printable(text);
  if (refuses) {
    throw error(attribute_label(object_name, name) + " has " + std::to_string(text.size()) +
                " bytes of text; at most " + std::to_string(most) + " are allowed");
  }
  return std::string(text::cut_utf8(text::printable(text.substr(0, most)), most)) + "...";
}

std::optional<double> Reader::number_attribute(const std::string& object_name,
                                               const std::string& name) const {
  const auto found = attribute(object_name, name);
  if (!found) return std::nullopt;
  return number_of(*found, object_name, name);
}

std::optional<std::vector<double>> Reader::numbers_attribute(const std::string& object_name,
                                                             const std::string& name) const {
  const auto found = attribute(object_name, name);
  if (!found) return std::nullopt;
  if (!is_plain_number(found->type))
    throw error(attribute_label(object_name, name) + " is not a list of numbers");
  // The numbers are part of the file, so they cannot be larger than the file.
  if (static_cast<double>(found->count) > bytes_) throw too_large(name);
  std::vector<double> numbers(static_cast<std::size_t>(found->count));
  if (!numbers.empty()) check(H5Aread(found->id, H5T_NATIVE_DOUBLE, numbers.data()));
  return numbers;
}

std::string Reader::text_of(const OpenAttribute& attribute, const std::string& owner,
                            const std::string& name) const {
  if (H5Tget_class(attribute.type) != H5T_STRING || attribute.count > 1) {
    throw error(attribute_label(owner, name) + " is not a single text");
  }
  if (attribute.count == 0) return "";
  // Text in an attribute is part of the file, so it cannot be larger than the file.
  if (static_cast<double>(H5Tget_size(attribute.type)) > bytes_) throw too_large(name);
  std::string text = attribute.text();
  if (!attribute.variable_text() && H5Tget_strpad(attribute.type) == H5T_STR_SPACEPAD) {
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
  if (type == H5O_TYPE_UNKNOWN) throw error("there is no '" + text::in_sentence(group) + "' in it");
  if (type != H5O_TYPE_GROUP) throw error("'" + text::in_sentence(group) + "' is not a group");
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
  return found == objects().end()
             ? ""
             : text::in_sentence(found->path.substr(found->path.rfind('/') + 1));
}

std::vector<std::string> Reader::dimensions(const std::string& name) const {
  return dimensions_of(dataset(name), name);
}

std::vector<std::string> Reader::dimensions_of(const Dataset& data, const std::string& name) const {
  if (data.shape.size() == 1 && is_scale(data.id)) {
    return {text::in_sentence(name.substr(name.rfind('/') + 1))};
  }
  Names names;
  for (const haddr_t scale : first_scales(data)) names.push_back(name_at(scale));
  return names;
}

Reader open_reader(int descriptor, const std::string& path) {
  try {
    return {descriptor, path};
  } catch (const Failure& failure) {
    const std::string reason = failure.what();
    const bool truncated = reason.find("truncated") != std::string::npos;
    throw InputError(
        "the file '" + path + "' " +
        (truncated ? "is truncated: its end is missing" : "is damaged or not HDF5: " + reason));
  }
}

}  // namespace popflow::hdf5
