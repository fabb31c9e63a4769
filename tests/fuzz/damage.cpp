#include "fuzz/damage.hpp"

#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "file/hdf5.hpp"
#include "text/text.hpp"

namespace popflow::fuzz {
namespace {

using hdf5::Handle;
using Sizes = std::vector<hsize_t>;

/// Most elements that are written; larger arrays are created without data.
constexpr hsize_t kMost = 100'000;

struct Place {
  std::string object;
  std::optional<std::string> attribute;
};

Place place_of(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, std::nullopt};
  return {at == 0 ? "/" : text.substr(0, at), text.substr(at + 1)};
}

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::size_t size_of(const std::string& text) {
  return static_cast<std::size_t>(std::strtoull(text.c_str(), nullptr, 10));
}

/// Returns the words of a change with their escapes replaced.
std::string plain(const std::string& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != '\\' || i + 1 == words.size()) {
      text += words[i];
    } else if (words[++i] == 'x') {
      text += static_cast<char>(std::strtol(words.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      text += words[i] == 'n' ? '\n' : words[i] == 's' ? ' ' : words[i];
    }
  }
  return text;
}

// ---- Types

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, bytes);
  return type;
}

Handle compound_type() {
  Handle type(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
  H5Tinsert(type, "re", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "im", 8, H5T_NATIVE_DOUBLE);
  return type;
}

Handle enum_type() {
  Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  for (std::int8_t value = 0; value < 2; ++value)
    H5Tenum_insert(type, value == 0 ? "FALSE" : "TRUE", &value);
  return type;
}

Handle array_type() {
  const hsize_t size = 3;
  return {H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &size), H5Tclose};
}

Handle half_type() {
  Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

const std::map<std::string, Handle (*)()>& table() {
  static const std::map<std::string, Handle (*)()> all = {
      {"int8", [] { return Handle(H5Tcopy(H5T_STD_I8LE), H5Tclose); }},
      {"uint8", [] { return Handle(H5Tcopy(H5T_STD_U8LE), H5Tclose); }},
      {"int32", [] { return Handle(H5Tcopy(H5T_STD_I32BE), H5Tclose); }},
      {"int64", [] { return Handle(H5Tcopy(H5T_STD_I64LE), H5Tclose); }},
      {"uint64", [] { return Handle(H5Tcopy(H5T_STD_U64LE), H5Tclose); }},
      {"float16", half_type},
      {"float32", [] { return Handle(H5Tcopy(H5T_IEEE_F32LE), H5Tclose); }},
      {"float64", [] { return Handle(H5Tcopy(H5T_IEEE_F64LE), H5Tclose); }},
      {"big-endian", [] { return Handle(H5Tcopy(H5T_IEEE_F64BE), H5Tclose); }},
      {"long-double", [] { return Handle(H5Tcopy(H5T_NATIVE_LDOUBLE), H5Tclose); }},
      {"bits", [] { return Handle(H5Tcopy(H5T_STD_B16LE), H5Tclose); }},
      {"text", [] { return text_type(8); }},
      {"long-text", [] { return text_type(100'000); }},
      {"free-text", [] { return text_type(H5T_VARIABLE); }},
      {"compound", compound_type},
      {"enum", enum_type},
      {"array", array_type},
      {"opaque", [] { return Handle(H5Tcreate(H5T_OPAQUE, 4), H5Tclose); }},
      {"reference", [] { return Handle(H5Tcopy(H5T_STD_REF_OBJ), H5Tclose); }},
      {"region", [] { return Handle(H5Tcopy(H5T_STD_REF_DSETREG), H5Tclose); }},
      {"list", [] { return Handle(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose); }},
      {"references", [] { return Handle(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose); }},
  };
  return all;
}

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

// ---- Arrays: datasets and attributes

struct Array {
  Handle type;
  Sizes sizes;
  bool null = false;
  std::vector<double> numbers;  ///< values of a small numeric array
  std::string text;             ///< value of a single text
};

hsize_t elements(const Sizes& sizes) {
  hsize_t all = 1;
  for (const hsize_t size : sizes) {
    if (size != 0 && all > std::numeric_limits<hsize_t>::max() / size) return all;
    all *= size;
  }
  return all;
}

Handle open_object(hid_t file, const std::string& path) {
  return {H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose};
}

/// Reads the array at a place; throws hdf5::Failure if there is none.
Array read(hid_t file, const Place& place) {
  const Handle object = open_object(file, place.object);
  Handle attribute;
  if (place.attribute)
    attribute = Handle(H5Aopen(object, place.attribute->c_str(), H5P_DEFAULT), H5Aclose);
  Array array;
  array.type = Handle(place.attribute ? H5Aget_type(attribute) : H5Dget_type(object), H5Tclose);
  const Handle space(place.attribute ? H5Aget_space(attribute) : H5Dget_space(object), H5Sclose);
  array.null = H5Sget_simple_extent_type(space) == H5S_NULL;
  array.sizes.resize(static_cast<std::size_t>(hdf5::check(H5Sget_simple_extent_ndims(space))));
  H5Sget_simple_extent_dims(space, array.sizes.data(), nullptr);
  const hsize_t count = array.null ? 0 : elements(array.sizes);
  if (is_number(array.type) && count <= kMost) {
    array.numbers.resize(count);
    if (place.attribute)
      H5Aread(attribute, H5T_NATIVE_DOUBLE, array.numbers.data());
    else
      H5Dread(object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.numbers.data());
  } else if (place.attribute && H5Tget_class(array.type) == H5T_STRING && count == 1 &&
             H5Tis_variable_str(array.type) == 0) {
    array.text.resize(H5Tget_size(array.type));
    H5Aread(attribute, array.type, array.text.data());
    array.text = array.text.c_str();
  }
  return array;
}

/// Replaces the object at a place by an array. Too few numbers are repeated from the first on;
/// other types are filled with zeros.
void write(hid_t file, const Place& place, const Array& array, bool packed = false) {
  const Handle space(array.null            ? H5Screate(H5S_NULL)
                     : array.sizes.empty() ? H5Screate(H5S_SCALAR)
                                           : H5Screate_simple(static_cast<int>(array.sizes.size()),
                                                              array.sizes.data(), nullptr),
                     H5Sclose);
  const hsize_t count = array.null ? 0 : elements(array.sizes);
  const bool numbers = is_number(array.type);
  const bool written = count > 0 && count * H5Tget_size(array.type) <= 10 * kMost;
  std::vector<double> values(written && numbers ? count : 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        array.numbers.empty() ? static_cast<double>(i) : array.numbers[i % array.numbers.size()];
  std::string zeros(written && !numbers ? count * H5Tget_size(array.type) : 0, '\0');
  std::copy_n(array.text.begin(), std::min(array.text.size(), zeros.size()), zeros.begin());
  const void* data = numbers ? static_cast<const void*>(values.data()) : zeros.data();
  const hid_t memory = numbers ? H5T_NATIVE_DOUBLE : static_cast<hid_t>(array.type);
  if (place.attribute) {
    const Handle object = open_object(file, place.object);
    H5Adelete(object, place.attribute->c_str());
    const Handle made(
        H5Acreate2(object, place.attribute->c_str(), array.type, space, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (written) H5Awrite(made, memory, data);
    return;
  }
  const Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if ((packed || count > kMost) && !array.sizes.empty()) {
    Sizes chunk = array.sizes;
    for (hsize_t& size : chunk) size = std::clamp<hsize_t>(size, 1, 64);
    H5Pset_chunk(how, static_cast<int>(chunk.size()), chunk.data());
    if (packed) H5Pset_deflate(how, 9);
  }
  H5Ldelete(file, place.object.c_str(), H5P_DEFAULT);
  const Handle made(
      H5Dcreate2(file, place.object.c_str(), array.type, space, H5P_DEFAULT, how, H5P_DEFAULT),
      H5Dclose);
  if (written) H5Dwrite(made, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
}

// ---- Changes by their words

void set_shape(Array& array, const std::string& words) {
  array.null = words == "null";
  array.sizes.clear();
  if (array.null || words == "scalar") return;
  for (const std::string& word : text::split(words, ',')) array.sizes.push_back(size_of(word));
  if (array.sizes.size() > 32) array.sizes.resize(32);
}

/// Overwrites numbers in place, so that the array keeps its attributes.
void overwrite(hid_t file, const Place& place, const std::vector<double>& numbers) {
  const Handle object = open_object(file, place.object);
  if (place.attribute) {
    const Handle attribute(H5Aopen(object, place.attribute->c_str(), H5P_DEFAULT), H5Aclose);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, numbers.data());
  } else {
    H5Dwrite(object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
  }
}

void write_text(hid_t file, const Place& place, const std::string& text, std::size_t bytes) {
  Array array;
  array.type = text_type(std::max<std::size_t>(bytes, 1));
  array.text = text;
  write(file, place, array);
}

void link(hid_t file, const std::string& what, const Place& place, const std::string& name) {
  const char* from = place.object.c_str();
  if (what == "rename" && place.attribute)
    H5Arename_by_name(file, from, place.attribute->c_str(), name.c_str(), H5P_DEFAULT);
  else if (what == "rename")
    H5Lmove(file, from, file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  else if (what == "copy")
    H5Ocopy(file, from, file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  else if (what == "link")
    H5Lcreate_hard(file, from, file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  else
    H5Lcreate_soft(from, file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
}

/// Creates a dataset whose numbers lie in another file.
void move_outside(hid_t file, const Place& place) {
  const Array array = read(file, place);
  const Handle space(
      H5Screate_simple(static_cast<int>(array.sizes.size()), array.sizes.data(), nullptr),
      H5Sclose);
  const Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_external(how, "elsewhere", 0, elements(array.sizes) * 8);
  H5Ldelete(file, place.object.c_str(), H5P_DEFAULT);
  const Handle made(
      H5Dcreate2(file, place.object.c_str(), array.type, space, H5P_DEFAULT, how, H5P_DEFAULT),
      H5Dclose);
}

void change_array(hid_t file, const std::string& what, const Place& place, const Lines& words) {
  Array array = read(file, place);
  const std::string third = words.size() > 2 ? words[2] : "";
  if (what == "shape") {
    set_shape(array, third);
    write(file, place, array);
  } else if (what == "type") {
    const auto row = table().find(third);
    if (row == table().end()) return;
    array.type = row->second();
    write(file, place, array);
  } else if (what == "pack") {
    write(file, place, array, true);
  } else if (what == "fill" && !array.numbers.empty()) {
    std::fill(array.numbers.begin(), array.numbers.end(), number_of(third));
    overwrite(file, place, array.numbers);
  } else if (what == "set" && !array.numbers.empty() && words.size() > 3) {
    array.numbers[size_of(third) % array.numbers.size()] = number_of(words[3]);
    overwrite(file, place, array.numbers);
  } else if (what == "edit" && words.size() > 3) {
    const std::string from = plain(third);
    const std::size_t at = array.text.find(from);
    if (from.empty() || at == std::string::npos) return;
    const std::string text = array.text.replace(at, from.size(), plain(words[3]));
    write_text(file, place, text, text.size());
  }
}

void change(hid_t file, const Lines& words) {
  if (words.size() < 2) return;
  const std::string& what = words[0];
  const Place place = place_of(words[1]);
  const std::string third = words.size() > 2 ? words[2] : "";
  const bool root = place.object == "/" && !place.attribute;
  if (what == "delete" && place.attribute) {
    H5Adelete_by_name(file, place.object.c_str(), place.attribute->c_str(), H5P_DEFAULT);
  } else if (what == "delete" && !root) {
    H5Ldelete(file, place.object.c_str(), H5P_DEFAULT);
  } else if (what == "rename" || what == "copy" || what == "link" || what == "soft") {
    if (!third.empty()) link(file, what, place, third);
  } else if (what == "group" && !root) {
    H5Ldelete(file, place.object.c_str(), H5P_DEFAULT);
    const Handle made(H5Gcreate2(file, place.object.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                      H5Gclose);
  } else if (what == "text" && !root) {
    write_text(file, place, plain(third), plain(third).size());
  } else if (what == "fixed" && words.size() > 3 && !root) {
    write_text(file, place, plain(words[3]), std::min<std::size_t>(size_of(third), 4'000'000));
  } else if (what == "outside" && !root) {
    move_outside(file, place);
  } else {
    change_array(file, what, place, words);
  }
}

bool is_of_bytes(const std::string& what) {
  return what == "byte" || what == "find" || what == "cut";
}

void change_bytes(std::string& bytes, const Lines& words) {
  if (bytes.empty() || words.size() < 2) return;
  if (words[0] == "cut") {
    bytes.resize(std::min(bytes.size(), size_of(words[1])));
  } else if (words[0] == "byte" && words.size() > 2) {
    bytes[size_of(words[1]) % bytes.size()] = static_cast<char>(size_of(words[2]));
  } else if (words[0] == "find" && words.size() > 3) {
    const std::size_t at = bytes.find(plain(words[1]));
    if (at != std::string::npos)
      bytes[(at + size_of(words[2])) % bytes.size()] = static_cast<char>(size_of(words[3]));
  }
}

}  // namespace

std::string damaged(const std::string& file, const Lines& changes) {
  const auto locked = hdf5::lock();
  std::string bytes = file;
  const auto is_inside = [](const std::string& line) {
    return !is_of_bytes(line.substr(0, line.find(' ')));
  };
  if (std::any_of(changes.begin(), changes.end(), is_inside)) {
    // Uses a file on disk, since H5Fget_file_image() of HDF5 1.10 gives a wrong checksum.
    constexpr const char* kPath = "changing.h5";
    std::ofstream(kPath, std::ios::binary) << bytes;
    {
      const Handle opened(H5Fopen(kPath, H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      for (const std::string& line : changes) {
        if (!is_inside(line)) continue;
        try {
          change(opened, text::split(line, ' '));
        } catch (const hdf5::Failure&) {  // HDF5 refuses the change
        }
      }
    }
    std::ifstream changed(kPath, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(changed), {});
  }
  for (const std::string& line : changes)
    if (!is_inside(line)) change_bytes(bytes, text::split(line, ' '));
  return bytes;
}

namespace {

herr_t add_attribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* list) {
  static_cast<Lines*>(list)->push_back(name);
  return 0;
}

/// Adds an object and its attributes to the list.
herr_t add_object(hid_t file, const char* name, const H5O_info_t* /*info*/, void* list) {
  auto& all = *static_cast<Lines*>(list);
  const std::string path = name == std::string(".") ? "/" : std::string("/") + name;
  all.push_back(path);
  const std::size_t first = all.size();
  hsize_t index = 0;
  H5Aiterate_by_name(file, name, H5_INDEX_NAME, H5_ITER_INC, &index, add_attribute, list,
                     H5P_DEFAULT);
  for (std::size_t i = first; i < all.size(); ++i) all[i] = path + "@" + all[i];
  return 0;
}

}  // namespace

Lines places(const std::string& file) {
  const auto locked = hdf5::lock();
  std::string bytes = file;
  const Handle opened(H5LTopen_file_image(bytes.data(), bytes.size(), 0), H5Fclose);
  Lines all;
#if H5_VERSION_GE(1, 12, 0)
  H5Ovisit3(
      opened, H5_INDEX_NAME, H5_ITER_INC,
      [](hid_t object, const char* name, const H5O_info2_t* /*info*/, void* list) {
        return add_object(object, name, nullptr, list);
      },
      &all, H5O_INFO_BASIC);
#else
  H5Ovisit(opened, H5_INDEX_NAME, H5_ITER_INC, add_object, &all);
#endif
  return all;
}

const Lines& types() {
  static const Lines names = [] {
    Lines all;
    for (const auto& row : table()) all.push_back(row.first);
    return all;
  }();
  return names;
}

}  // namespace popflow::fuzz
