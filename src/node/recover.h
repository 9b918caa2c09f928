// Getting out of the middle: rolling back what failed, and settling what a process left behind when it died.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "node/context.h"
#include "node/planner.h"

namespace partita::node {

// A GPU that is in neither layout: the driver refused, it is lost, or a reset is pending.
struct Unfinished {
  std::int64_t operation = 0;
  std::string gpu;  // UUID
  Error error;
};

// Leads all GPUs of an open operation to its new layout (forward) or the old one, from whatever is live, and closes it.
// GPUs that cannot be reached are returned and keep it open. An error means that this direction is barred: nothing was
// changed if a plan was not possible, else something failed on the way.
Result<std::vector<Unfinished>> settle(Context& context, Operation operation, bool forward);

struct Recovered {
  std::vector<std::string> notes;  // "finished the apply that pid 4711 left at step 3 of 7"
  std::vector<Unfinished> unfinished;
};
// Settles every open operation: forward if possible, else back. The lock must be held, so their processes are gone or
// gave up.
Result<Recovered> recover(Context& context);

// "the apply that pid 4711 (partita apply ...) left at step 3 of 7".
std::string describe(const Operation& operation);

}  // namespace partita::node
