#include "file/names.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "text/utf8.hpp"

namespace popflow::hdf5 {

namespace {

/// Name with its place in the order of creation, if the file keeps that order.
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

herr_t collect_link(hid_t /*group*/, const char* name, const H5L_info_t* info,
                    void* data) noexcept {
  const haddr_t address = info->type == H5L_TYPE_HARD ? info->u.address : HADDR_UNDEF;
  static_cast<std::vector<Link>*>(data)->push_back({name, info->type, address});
  return 0;
}

/// Returns the names that `iterate` visits. They are sorted here, because HDF5's sorting crashes on
/// some damaged files.
template <class Iterate>
Names in_order(Iterate iterate) {
  std::vector<Entry> entries;
  check(iterate(&entries));
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tie(e.order, e.name); });
  Names names;
  for (Entry& entry : entries) {
    if (text::in_sentence(entry.name) == entry.name) names.push_back(std::move(entry.name));
  }
  return names;
}

}  // namespace

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

std::vector<Link> links_of(hid_t file, const std::string& group) {
  std::vector<Link> links;
  check(H5Literate_by_name(file, group.empty() ? "/" : group.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE,
                           nullptr, collect_link, &links, H5P_DEFAULT));
  return links;
}

}  // namespace popflow::hdf5
