#include "plot/picture.hpp"

#include "plot/maps.hpp"
#include "plot/rungs.hpp"
#include "plot/trajectories.hpp"
#include "popflow/error.hpp"

namespace popflow {

std::string picture(const DataFile& file, const PictureOptions& options, const Catalogue& catalogue,
                    const Look& look) {
  const FileKind kind = kind_of(file);
  if (options.against != "time" && kind != FileKind::run)
    throw UsageError("--against needs the file of a run; " + file.path() + " is not one");
  switch (kind) {
    case FileKind::run:
      break;
    case FileKind::sweep:
      return picture_of_sweep(file, options, catalogue, look);
    case FileKind::comparison_of_sweeps:
      return picture_of_compared_sweeps(file, options, look);
    case FileKind::comparison:
      return picture_of_comparison(file, options, look);
  }
  return picture_of_run(file, options, look);
}

}  // namespace popflow
