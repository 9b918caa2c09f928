// Any bytes as an emulated node's file: a node within its bounds, or an error.
#include "emulator/control/node_file.h"
#include "fuzz.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto node = emulator::read_node_file(fuzz::text_of(data, size), "f");
  if (!fuzz::accepted(node)) return 0;
  int gpus = 0;
  for (const auto& entry : node->gpus) gpus += entry.count;
  fuzz::require(gpus >= 1 && gpus <= 32, "a node has 1 to 32 GPUs");
  return 0;
}
