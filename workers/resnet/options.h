// What the worker is asked to do: its options, with defaults from the environment that `partita study --measure` gives
// to a tenant's command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "resnet/job.h"

namespace partita::resnet {

std::string_view name(Model model);
std::string_view name(Mode mode);
std::string_view name(Precision precision);

struct Options {
  JobOptions job;
  double seconds = 10;                      // of work; loading and the first step are left out
  std::optional<int> steps = std::nullopt;  // ends after so many, whatever the time
  double interval_s = 1;                    // between two lines
  bool help = false;
};

extern const std::string_view kUsage;

// The value of a variable of the environment, if it is set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

// `words`: those after the program's name. An option goes before PARTITA_WORKLOAD, PARTITA_MODE, PARTITA_BATCH and
// PARTITA_SECONDS. `invalid` names the option or variable, what it takes and what was found.
Result<Options> read_options(const std::vector<std::string>& words, const Variable& variable);

}  // namespace partita::resnet
