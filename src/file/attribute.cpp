#include "file/attribute.hpp"

#include <algorithm>
#include <vector>

namespace popflow::hdf5 {

namespace {

/// Length in bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF show in the second byte.
  const unsigned char second = byte(1);
  const bool forbidden = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                         (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return forbidden ? 0 : length;
}

Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  check(H5Tset_size(type, size));
  check(H5Tset_cset(type, H5T_CSET_UTF8));
  if (size != H5T_VARIABLE) check(H5Tset_strpad(type, H5T_STR_NULLPAD));
  return type;
}

Handle scalar() { return {H5Screate(H5S_SCALAR), H5Sclose}; }

Handle row(std::size_t size) {
  const hsize_t extent = size;
  return {H5Screate_simple(1, &extent, nullptr), H5Sclose};
}

void create(hid_t object, const std::string& name, hid_t type, hid_t space, const void* data) {
  Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose);
  check(H5Awrite(attribute, type, data));
  attribute.close();
}

/// `text` cut to `size` bytes and padded with zeros.
std::vector<char> padded(const std::string& text, std::size_t size) {
  const std::string valid = as_utf8(text);
  std::vector<char> bytes(size, '\0');
  std::ranges::copy(cut_utf8(valid, size), bytes.begin());
  return bytes;
}

/// Writes each alternative of Attribute::value as the file's type for it.
struct Creator {
  hid_t object;
  const Attribute& attribute;

  void operator()(const std::string& text) const {
    if (attribute.reserved > 0) {
      const std::vector<char> bytes = padded(text, attribute.reserved);
      create(object, attribute.name, text_type(attribute.reserved), scalar(), bytes.data());
    } else {
      const std::string valid = as_utf8(text);
      const char* start = valid.c_str();
      create(object, attribute.name, text_type(H5T_VARIABLE), scalar(), &start);
    }
  }
  void operator()(double value) const {
    create(object, attribute.name, H5T_IEEE_F64LE, scalar(), &value);
  }
  void operator()(std::int64_t value) const {
    create(object, attribute.name, H5T_STD_I64LE, scalar(), &value);
  }
  void operator()(std::int8_t value) const {
    create(object, attribute.name, H5T_STD_I8LE, scalar(), &value);
  }
  void operator()(const std::vector<double>& values) const {
    create(object, attribute.name, H5T_IEEE_F64LE, row(values.size()), values.data());
  }
  void operator()(const std::vector<std::int8_t>& values) const {
    create(object, attribute.name, H5T_STD_I8LE, row(values.size()), values.data());
  }
};

std::string full_name(const TrajectoryFile::AttributeChange& change) {
  return "attribute '" + change.group + "/" + change.name + "'";
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    valid += length > 0 ? text.substr(0, length) : "\uFFFD";
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

void create_attribute(hid_t object, const Attribute& attribute) {
  std::visit(Creator{object, attribute}, attribute.value);
}

FixedAttribute::FixedAttribute(hid_t file, const TrajectoryFile::AttributeChange& change)
    : change_(change) {
  const auto absent = [&] { return std::logic_error("no " + full_name(change) + " to change"); };
  const std::string group = change.group.empty() ? "/" : change.group;
  if (group != "/" && H5Lexists(file, group.c_str(), H5P_DEFAULT) <= 0) throw absent();
  // By way of its owner: what H5Aopen_by_name opens cannot be rewritten once the object has more
  // attributes than one node of their index holds (seen with HDF5 1.10.8).
  owner_ = open_object(file, group);
  if (check(H5Aexists(owner_, change.name.c_str())) == 0) throw absent();
  attribute_ = Handle(H5Aopen(owner_, change.name.c_str(), H5P_DEFAULT), H5Aclose);
  type_ = Handle(H5Aget_type(attribute_), H5Tclose);
  const Handle space(H5Aget_space(attribute_), H5Sclose);
  const H5T_class_t stored = H5Tget_class(type_);
  const bool text = std::holds_alternative<std::string>(change.value);
  const bool fits = text ? stored == H5T_STRING && check(H5Tis_variable_str(type_)) == 0
                         : stored == H5T_FLOAT || stored == H5T_INTEGER;
  if (!fits || check(H5Sget_simple_extent_npoints(space)) != 1) {
    throw std::logic_error(full_name(change) + " is not one of fixed size and this type");
  }
}

void FixedAttribute::rewrite() const {
  if (const auto* text = std::get_if<std::string>(&change_.value)) {
    check(H5Awrite(attribute_, type_, padded(*text, H5Tget_size(type_)).data()));
  } else if (const auto* number = std::get_if<double>(&change_.value)) {
    check(H5Awrite(attribute_, H5T_NATIVE_DOUBLE, number));
  } else {
    check(H5Awrite(attribute_, H5T_NATIVE_INT64, &std::get<std::int64_t>(change_.value)));
  }
}

}  // namespace popflow::hdf5
