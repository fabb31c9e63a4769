#include "file/dataset.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "file/open_attribute.hpp"

namespace popflow::hdf5 {

namespace {

/// Returns whether a type has whole numbers of up to 64 bits.
bool is_plain_integer(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  const int offset = H5Tget_offset(type);
  return bits >= 8 && bits <= 64 && offset >= 0 && H5Tget_precision(type) >= 1 &&
         H5Tget_precision(type) + static_cast<std::size_t>(offset) <= bits;
}

/// Returns whether a type has floating-point numbers whose sign, exponent and mantissa lie side by
/// side.
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

}  // namespace

double count_of(const std::vector<std::size_t>& shape) {
  double count = 1;
  for (const std::size_t size : shape) count *= static_cast<double>(size);
  return count;
}

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

bool is_scale(hid_t dataset) {
  constexpr std::string_view kMark = "DIMENSION_SCALE";
  constexpr std::size_t kMost = 64;
  if (check(H5Aexists(dataset, "CLASS")) == 0) return false;
  const OpenAttribute attribute(dataset, "CLASS");
  const std::size_t size = H5Tget_size(attribute.type);
  const bool text = H5Tget_class(attribute.type) == H5T_STRING && !attribute.variable_text();
  return text && attribute.count == 1 && size <= kMost && attribute.text().starts_with(kMark);
}

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

}  // namespace popflow::hdf5
