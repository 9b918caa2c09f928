// Where GPUs sit in an emulated machine: it has two sockets, and each half of its GPUs hangs on one of them. The
// sockets share this machine's processors, so that binding to those near a GPU works.
#pragma once

#include <cstddef>

#include "emulator/engine/spec.h"

namespace partita::emulator {

// NUMA node of the GPU: 0 or 1.
inline int numa_node(const NodeSpec& spec, std::size_t gpu) { return gpu < (spec.gpus.size() + 1) / 2 ? 0 : 1; }

struct Processors {
  unsigned first = 0, end = 1;  // one past the last
};
// Of the GPU's socket; all of them, where there is one GPU or one processor.
inline Processors near_processors(const NodeSpec& spec, std::size_t gpu, unsigned processors) {
  if (processors < 2 || spec.gpus.size() < 2) return {0, processors};
  return numa_node(spec, gpu) == 0 ? Processors{0, processors / 2} : Processors{processors / 2, processors};
}

}  // namespace partita::emulator
