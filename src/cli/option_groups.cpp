#include "cli/option_groups.hpp"

#include <algorithm>

namespace popflow::cli {
namespace {

struct Question {
  const char* text;
  std::vector<std::string> options;
};

const std::vector<Question>& questions() {
  static const std::vector<Question> all = {
      {"The most used",
       {"over", "rungs", "output", "mode", "runs", "t-end", "plot", "config", "thorough",
        "within"}},
      {"Which cells?", {"samples", "sample-seed", "same-seed", "shard", "keep-going"}},
      {"What is compared, and how strictly?",
       {"from", "learning-rates", "fixed-betas", "check-noise", "delta", "delta-time",
        "delta-share", "delta-factor", "level"}},
      {"Which problem, and which start?", {"problem", "problem-seed", "init-from"}},
      {"How are the weights trained?",
       {"learning-rate", "batch-size", "optimizer", "momentum", "beta1", "beta2", "epsilon",
        "orthogonalise", "clip-norm", "average", "weight-decay", "decay", "rates", "init-optimizer",
        "optimizer-steps", "batch-noise-in-variance", "variance-samples"}},
      {"How does the learning rate change?",
       {"learning-rate-schedule", "final-rate", "schedule-length", "warmup", "warmup-steps"}},
      {"Which noise?",
       {"noise", "noise-scale", "noise-samples", "modified-equation", "svag", "seed", "first-run"}},
      {"When does a run end?", {"steps", "stop-when", "steady-tolerance", "max-steps"}},
      {"What is recorded, and when?",
       {"saves", "save-spacing", "save-first", "save-at", "state", "state-of-optimizer",
        "record-observables", "sharpness", "record", "reduce", "figure"}},
      {"How is it computed?",
       {"method", "rtol", "atol", "error-norm", "dt", "max-step", "kernel", "threads",
        "checkpoint-every"}},
      {"Files and screen", {"force", "dry-run", "json", "quiet", "progress"}},
  };
  return all;
}

}  // namespace

std::vector<OptionGroup> option_groups(const ParameterTable& options) {
  std::vector<OptionGroup> groups;
  ParameterTable rest = options;
  for (const Question& question : questions()) {
    OptionGroup group{question.text, {}};
    for (const std::string& name : question.options) {
      const auto found = std::find_if(rest.begin(), rest.end(),
                                      [&](const Parameter& row) { return row.name == name; });
      if (found == rest.end()) continue;
      group.options.push_back(*found);
      rest.erase(found);
    }
    if (!group.options.empty()) groups.push_back(std::move(group));
  }
  if (!rest.empty()) groups.push_back({groups.empty() ? "Options" : "Others", rest});
  // A short list needs no questions.
  constexpr std::size_t kShort = 12;
  if (options.size() <= kShort) return {{"Options", options}};
  return groups;
}

}  // namespace popflow::cli
