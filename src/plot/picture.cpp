#include "plot/picture.hpp"

#include "compare/compare.hpp"
#include "compare/sweeps.hpp"
#include "plot/maps.hpp"
#include "plot/rungs.hpp"
#include "plot/trajectories.hpp"
#include "popflow/error.hpp"

namespace popflow {

std::string picture(const DataFile& file, const PictureOptions& options, const Catalogue& catalogue,
                    const Look& look) {
  if (options.against != "time" && (is_sweep(file) || is_comparison(file)))
    throw UsageError("--against is for files of runs; " + file.path() + " is not one");
  if (is_sweep(file)) return picture_of_sweep(file, options, catalogue, look);
  if (is_comparison_of_sweeps(file)) return picture_of_compared_sweeps(file, options, look);
  if (is_comparison(file)) return picture_of_comparison(file, options, look);
  return picture_of_run(file, options, look);
}

void show_picture(const std::string& path, const Parameters& options, const Catalogue& catalogue,
                  Screen& screen) {
  if (!options.flag("plot")) return;
  try {
    screen.result("\n" + picture(DataFile(path), {}, catalogue, Look::of_standard_output()));
  } catch (const Error& error) {
    screen.warning(std::string("no picture: ") + error.what());
  }
}

}  // namespace popflow
