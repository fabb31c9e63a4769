#include "training/weight_average.hpp"

#include <algorithm>

#include "popflow/error.hpp"

namespace popflow {

namespace {

template <class Info>
void add_averages(std::vector<Info>& infos, const std::string& system, const auto& averaged) {
  const std::size_t own = infos.size();
  for (std::size_t i = 0; i < own; ++i) {
    Info info = averaged(infos[i]);
    if (std::ranges::find(infos, info.name, &Info::name) != infos.end())
      throw UsageError("--average: " + system + " already has the name " + info.name);
    info.meaning += " at the average of the weights";
    info.source = "exponential average of the weights (--average)";
    infos.push_back(std::move(info));
  }
}

}  // namespace

SystemInfo with_averages(SystemInfo system) {
  add_averages(system.fields, system.name, [](FieldInfo field) {
    field.name.insert(0, kAverageOf);
    field.symbol = field.name;  // figures then show the name in words
    return field;
  });
  add_averages(system.observables, system.name, [](ObservableInfo observable) {
    observable.name += kAveraged;
    observable.symbol = observable.name;
    return observable;
  });
  return system;
}

}  // namespace popflow
