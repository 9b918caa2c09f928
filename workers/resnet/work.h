// Runs a job step by step and tells of each interval, as a measured run wants it (docs/studies.md).
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "resnet/job.h"
#include "resnet/options.h"

namespace partita::resnet {

struct Teller {
  std::function<Result<void>(const std::string& line)> line;  // an error ends the work
  std::function<void(const std::string& text)> progress;
  std::function<bool()> stop;
  std::function<double()> now_s;
};

// Until the time or the steps are over, or stop() says so, which is asked between two steps. Out of memory is told as a
// line, and no error. `driver` for what else the device refused.
Result<void> work(const Options& options, Job& job, const Teller& teller);

Error to_error(const Trouble& trouble);

}  // namespace partita::resnet
