#include "engine/made_of_files.hpp"

#include <algorithm>

#include "engine/interrupt.hpp"
#include "engine/restart.hpp"
#include "popflow/error.hpp"
#include "text/text.hpp"

namespace popflow {

namespace {

/// Attributes that list variables. Sweeps store other numbers of their observables, so their list
/// is left out.
std::vector<const char*> lists_of(const StoredFile& file) {
  std::vector<const char*> lists = {"passages"};
  const bool sweep = find_group(file.layout(), "sweep") != nullptr;
  if (!sweep) lists.push_back("observables");
  const bool states = sweep || text_of(file.layout(), "parameters", "state") != "none";
  if (states) lists.push_back("state_fields");
  return lists;
}

/// Gives a file its name if it can be read.
void publish_readable(TrajectoryFile& file, bool force,
                      const std::function<std::string(const DataFile&)>& read) {
  file.sync();
  try {
    (void)read(DataFile(file.place()));
  } catch (const InputError& error) {
    std::string reason = error.what();
    if (const std::size_t at = reason.find(file.place()); at != std::string::npos)
      reason.replace(at, file.place().size(), file.path());
    throw InputError("no file was written, because the joined file would not be readable: " +
                     reason);
  }
  throw_if_interrupted();
  file.publish(force);
}

}  // namespace

void require_complete(const StoredFile& file) {
  const std::vector<VariableSpec>& variables = file.layout().variables;
  for (const char* list : lists_of(file))
    for (const std::string& name : text::split_words(text_of(file.layout(), "", list)))
      if (std::none_of(variables.begin(), variables.end(),
                       [&](const VariableSpec& variable) { return variable.name == name; }))
        throw InputError("'" + file.path() + "' is damaged: it has no '" + name +
                         "', although its attribute '" + list +
                         "' lists it, or has it in another form");
  require_intact_slots(file);
}

ExitCode make_of_files(const std::function<TrajectoryFile()>& make,
                       const std::function<std::string(const DataFile&)>& describe, bool force,
                       Screen& screen) {
  std::string path;
  try {
    TrajectoryFile file = make();
    publish_readable(file, force, describe);
    path = file.path();
  } catch (const Interrupted&) {
    screen.progress_done();
    screen.warning("interrupted; no file was written");
    return interrupted_code();
  }
  screen.progress_done();
  screen.result(describe(DataFile(path)));
  return ExitCode::success;
}

}  // namespace popflow
