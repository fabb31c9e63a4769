#pragma once

#include <map>
#include <vector>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

/// Attaches dimension scales to the axes of datasets, as H5DSattach_scale() does (HDF5 Dimension
/// Scale Specification), but writes each list of references once, when it is known, where that
/// writes it again for every axis: its time grows with the square of the datasets that share a
/// scale. For datasets that nothing is attached to yet.
class ScaleLists {
 public:
  ScaleLists();

  /// One scale, which H5DSset_scale() has made one, for each axis of the dataset, which has one
  /// axis at least. Writes the dataset's list. The scales must stay open until finish().
  void attach(hid_t dataset, const std::vector<hid_t>& scales);

  /// Writes the scales' lists of what they are attached to, as the last attribute of each.
  void finish();

 private:
  /// An element of a scale's list as it is in memory and in the file.
  struct Use {
    hobj_ref_t dataset;
    unsigned axis;
    unsigned padding = 0;  ///< so that the same layout gives the same bytes
  };

  hobj_ref_t reference_to(hid_t scale);

  const Handle row_;  ///< type of an axis' list
  const Handle use_;  ///< type of a Use
  std::map<hid_t, hobj_ref_t> references_;
  std::map<hid_t, std::vector<Use>> uses_;
};

}  // namespace popflow::hdf5
