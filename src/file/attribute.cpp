#include "file/attribute.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "text/utf8.hpp"

namespace popflow::hdf5 {

namespace {

Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  check(H5Tset_size(type, size));
  check(H5Tset_cset(type, H5T_CSET_UTF8));
  if (size != H5T_VARIABLE) check(H5Tset_strpad(type, H5T_STR_NULLPAD));
  return type;
}

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

/// Returns `text` cut to `size` bytes and padded with zeros.
std::vector<char> padded(const std::string& text, std::size_t size) {
  const std::string valid = text::as_utf8(text);
  std::vector<char> bytes(size, '\0');
  std::ranges::copy(text::cut_utf8(valid, size), bytes.begin());
  return bytes;
}

/// Writes each alternative of Attribute::value with the file's type for it.
struct Creator {
  hid_t object;
  const Attribute& attribute;
  hid_t scalar;
  hid_t text_of_any_length;

  void operator()(const std::string& text) const {
    if (attribute.reserved > 0) {
      const std::vector<char> bytes = padded(text, attribute.reserved);
      create(object, attribute.name, text_type(attribute.reserved), scalar, bytes.data());
    } else {
      const std::string valid = text::as_utf8(text);
      const char* start = valid.c_str();
      create(object, attribute.name, text_of_any_length, scalar, &start);
    }
  }
  void operator()(double value) const {
    create(object, attribute.name, H5T_IEEE_F64LE, scalar, &value);
  }
  void operator()(std::int64_t value) const {
    create(object, attribute.name, H5T_STD_I64LE, scalar, &value);
  }
  void operator()(std::int8_t value) const {
    create(object, attribute.name, H5T_STD_I8LE, scalar, &value);
  }
  void operator()(const std::vector<double>& values) const {
    create(object, attribute.name, H5T_IEEE_F64LE, row(values.size()), values.data());
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    create(object, attribute.name, H5T_STD_I64LE, row(values.size()), values.data());
  }
  void operator()(const std::vector<std::int8_t>& values) const {
    create(object, attribute.name, H5T_STD_I8LE, row(values.size()), values.data());
  }
};

using Change = TrajectoryFile::AttributeChange;

/// Bytes reserved for a text that replaces one which cannot be rewritten in place.
constexpr std::size_t kNewText = 512;

/// Smallest length of a fixed-length text that popflow writes; shorter texts come from other
/// programs.
constexpr std::size_t kLeastText = 16;

/// Opens the object that has the attribute, or should have it.
Handle owner_of(hid_t file, const Change& change) {
  const std::string group = change.group.empty() ? "/" : change.group;
  if (group != "/" && H5Lexists(file, group.c_str(), H5P_DEFAULT) <= 0) {
    throw std::logic_error("no group '" + change.group + "' whose attribute '" + change.name +
                           "' could be changed");
  }
  return open_object(file, group);
}

/// Returns whether an attribute of this type can hold every value of its kind: text of some length,
/// or any number. A type for small whole numbers must hold at least the given value.
struct Fits {
  hid_t type;

  bool operator()(const std::string& /*text*/) const {
    return H5Tget_class(type) == H5T_STRING && check(H5Tis_variable_str(type)) == 0 &&
           H5Tget_cset(type) == H5T_CSET_UTF8 && H5Tget_strpad(type) == H5T_STR_NULLPAD &&
           H5Tget_size(type) >= kLeastText;
  }
  bool operator()(double /*value*/) const {
    return H5Tget_class(type) == H5T_FLOAT && H5Tget_precision(type) >= 64;
  }
  bool operator()(std::int64_t value) const {
    if (H5Tget_class(type) != H5T_INTEGER || H5Tget_sign(type) != H5T_SGN_2) return false;
    const std::size_t bits = H5Tget_precision(type);
    if (bits >= 64) return true;
    const std::int64_t beyond = std::int64_t{1} << (bits - 1);
    return value >= -beyond && value < beyond;
  }
};

bool is_fixed(hid_t owner, const Change& change) {
  const Handle attribute(H5Aopen(owner, change.name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  return check(H5Sget_simple_extent_npoints(space)) == 1 && std::visit(Fits{type}, change.value);
}

/// Returns whether a text of variable length must be rewritten as such. If the file has an index of
/// the attributes' order, as netCDF files do, HDF5 1.10 cannot delete an attribute that h5py has
/// replaced (see create.cpp).
bool must_stay_variable(hid_t owner, const Change& change) {
  if (!std::holds_alternative<std::string>(change.value)) return false;
  unsigned order = 0;
  const Handle properties = H5Iget_type(owner) == H5I_GROUP
                                ? Handle(H5Gget_create_plist(owner), H5Pclose)
                                : Handle(H5Dget_create_plist(owner), H5Pclose);
  check(H5Pget_attr_creation_order(properties, &order));
  const Handle attribute(H5Aopen(owner, change.name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  return (order & H5P_CRT_ORDER_INDEXED) != 0 && H5Tget_class(type) == H5T_STRING &&
         check(H5Tis_variable_str(type)) > 0 && check(H5Sget_simple_extent_npoints(space)) == 1;
}

}  // namespace

AttributeCreator::AttributeCreator()
    : scalar_(H5Screate(H5S_SCALAR), H5Sclose), text_(text_type(H5T_VARIABLE)) {}

void AttributeCreator::create(hid_t object, const Attribute& attribute) const {
  std::visit(Creator{object, attribute, scalar_, text_}, attribute.value);
}

bool make_fixed(hid_t file, const Change& change) {
  const Handle owner = owner_of(file, change);
  const bool there = check(H5Aexists(owner, change.name.c_str())) > 0;
  if (there && (is_fixed(owner, change) || must_stay_variable(owner, change))) return false;
  if (there && H5Adelete(owner, change.name.c_str()) < 0) {
    throw Failure(std::string("another program wrote it, and it cannot be replaced: ") +
                  failure().what());
  }
  Attribute attribute{change.name, {}, kNewText};
  std::visit([&](const auto& value) { attribute.value = value; }, change.value);
  AttributeCreator().create(owner, attribute);
  return true;
}

// Opens the attribute through its owner: an attribute opened by H5Aopen_by_name cannot be rewritten
// once the object has more attributes than one node of their index holds (seen with HDF5 1.10.8).
FixedAttribute::FixedAttribute(hid_t file, const Change& change)
    : change_(change),
      owner_(owner_of(file, change)),
      attribute_(H5Aopen(owner_, change.name.c_str(), H5P_DEFAULT), H5Aclose),
      type_(H5Aget_type(attribute_), H5Tclose) {}

void FixedAttribute::rewrite() const {
  const auto* text = std::get_if<std::string>(&change_.value);
  if (text != nullptr && check(H5Tis_variable_str(type_)) > 0) {
    const std::string valid = text::as_utf8(*text);
    const char* start = valid.c_str();
    check(H5Awrite(attribute_, type_, &start));
  } else if (text != nullptr) {
    check(H5Awrite(attribute_, type_, padded(*text, H5Tget_size(type_)).data()));
  } else if (const auto* number = std::get_if<double>(&change_.value)) {
    check(H5Awrite(attribute_, H5T_NATIVE_DOUBLE, number));
  } else {
    check(H5Awrite(attribute_, H5T_NATIVE_INT64, &std::get<std::int64_t>(change_.value)));
  }
}

}  // namespace popflow::hdf5
