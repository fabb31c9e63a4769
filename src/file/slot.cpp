#include "file/slot.hpp"

#include "file/structure.hpp"
#include "popflow/error.hpp"
#include "text/utf8.hpp"

namespace popflow::hdf5 {

namespace {

std::optional<NumberType> number_type(hid_t type) {
  if (check(H5Tequal(type, H5T_IEEE_F64LE)) > 0) return NumberType::float64;
  if (check(H5Tequal(type, H5T_STD_I64LE)) > 0) return NumberType::int64;
  if (check(H5Tequal(type, H5T_STD_I8LE)) > 0) return NumberType::int8;
  return std::nullopt;
}

}  // namespace

std::optional<Slot> slot_of(const Dataset& dataset, const std::string& name, std::uint64_t size,
                            const std::string& path) {
  const std::optional<NumberType> type = number_type(dataset.type);
  if (!type) return std::nullopt;
  const auto count = static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(dataset.space)));
  const haddr_t offset = H5Dget_offset(dataset.id);
  const bool raw = offset != HADDR_UNDEF;
  if (raw && (offset > size || count > (size - offset) / bytes_of(*type)))
    throw InputError("'" + path + "' is damaged: '" + text::in_sentence(name) +
                     "' lies beyond its end");
  return Slot{raw ? offset : Slot::kScattered, count, *type};
}

}  // namespace popflow::hdf5
