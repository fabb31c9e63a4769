#pragma once

#include <map>
#include <vector>

#include "file/hdf5.hpp"

namespace popflow::hdf5 {

/// Attaches dimension scales to the axes of datasets, as H5DSattach_scale() does (HDF5 Dimension
/// Scale Specification), but writes each list of references only once, when it is complete.
/// H5DSattach_scale() rewrites the list for every axis, which takes quadratic time in the number of
/// datasets that share a scale. Only for datasets to which nothing is attached yet.
class ScaleLists {
 public:
  ScaleLists();

  /// Attaches one scale to each axis of the dataset, which has at least one axis; H5DSset_scale()
  /// must have made the scales. Writes the dataset's list. The scales must stay open until
  /// finish().
  void attach(hid_t dataset, const std::vector<hid_t>& scales);

  /// Writes the scales' lists of their datasets, as the last attribute of each.
  void finish();

 private:
  /// Element of a scale's list, as in memory and in the file.
  struct Use {
    hobj_ref_t dataset;
    unsigned axis;
    unsigned padding = 0;  ///< so that the same layout gives the same bytes
  };

  hobj_ref_t reference_to(hid_t scale);

  const Handle row_;  ///< type of an axis's list
  const Handle use_;  ///< type of a Use
  std::map<hid_t, hobj_ref_t> references_;
  std::map<hid_t, std::vector<Use>> uses_;
};

}  // namespace popflow::hdf5
