#include "engine/drivers.hpp"

#include "flow/flow_lanes.hpp"
#include "noise/sde_lanes.hpp"

namespace popflow {

namespace {

std::unique_ptr<Driver> driver_of(const FlowPlan& plan, const System& system, Workers& workers,
                                  std::uint32_t /*run*/, DriverHooks hooks) {
  FlowDriver::Options options = plan.driver;
  options.hooks = std::move(hooks);
  if (!plan.lanes) return std::make_unique<FlowDriver>(system, workers, std::move(options));
  const std::function<bool()> interrupted = options.hooks.interrupted;
  return std::move(FlowLanes({{&system, std::move(options)}}, interrupted).drivers().front());
}

std::unique_ptr<Driver> driver_of(const SdePlan& plan, const System& system, Workers& workers,
                                  std::uint32_t run, DriverHooks hooks) {
  SdeDriver::Options options = plan.driver;
  options.run = run;
  if (has_noisy_lanes(system, options)) {
    // A run alone in its lanes has the same bits as in a batch.
    std::vector<DriverHooks> alone = {std::move(hooks)};
    return std::move(noisy_lanes(system, options, {&run, 1}, std::move(alone)).front());
  }
  options.hooks = std::move(hooks);
  return std::make_unique<SdeDriver>(system, workers, std::move(options));
}

std::unique_ptr<Driver> driver_of(const SgdPlan& plan, const System& system, Workers& workers,
                                  std::uint32_t run, DriverHooks hooks) {
  SgdDriver::Options options = plan.driver;
  options.run = run;
  options.hooks = std::move(hooks);
  return std::make_unique<SgdDriver>(system, workers, std::move(options));
}

}  // namespace

std::unique_ptr<Driver> make_driver(const System& system, Workers& workers, const ModePlan& mode,
                                    std::uint32_t run, DriverHooks hooks) {
  return std::visit(
      [&](const auto& plan) { return driver_of(plan, system, workers, run, std::move(hooks)); },
      mode);
}

std::size_t runs_together(const ModePlan& mode) {
  const auto* sde = std::get_if<SdePlan>(&mode);
  return sde != nullptr && sde->lanes ? kLanes : 1;
}

std::vector<std::unique_ptr<Driver>> make_drivers(const System& system, Workers& workers,
                                                  const ModePlan& mode,
                                                  std::span<const std::uint32_t> runs,
                                                  std::vector<DriverHooks> hooks) {
  if (runs_together(mode) > 1)
    return noisy_lanes(system, std::get<SdePlan>(mode).driver, runs, std::move(hooks));
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    drivers.push_back(make_driver(system, workers, mode, runs[i], std::move(hooks[i])));
  return drivers;
}

}  // namespace popflow
