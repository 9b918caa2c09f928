// Any bytes as a workload file: a network with finite, positive figures that can be predicted, or one clear error.
#include <cmath>

#include "fuzz.h"
#include "predict/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto workload = partita::predict::read_workload(partita::fuzz::text_of(data, size), "f.yaml");
  if (!partita::fuzz::accepted(workload)) return 0;
  double macs = 0;
  for (const auto& operation : workload->operations) {
    partita::fuzz::require(operation.input_elements >= 0 && operation.output_elements >= 0, "sizes are not negative");
    macs += operation.macs();
  }
  partita::fuzz::require(std::isfinite(macs) && macs >= 0, "the work is finite");
  partita::fuzz::require(std::isfinite(workload->parameters) && workload->parameters >= 0, "so are the parameters");
  partita::fuzz::require(std::isfinite(workload->peak_live_elements), "and the memory");
  return 0;
}
