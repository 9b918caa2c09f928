// Processor and memory limits of a lease's group, by whichever hierarchy has the controller. Internal to deliver/.
#pragma once

#include <string>

#include "base/error.h"
#include "deliver/confine.h"
#include "deliver/hierarchies.h"

namespace partita::deliver {

// `invalid` when a limit makes no sense on any machine.
Result<void> check_limits(const Limits& limits);

// Sets the asked limits of the group PREFIX/NAME and lifts all others. Groups are made where a limit needs them.
// `unavailable` when an asked limit cannot be enforced here: it says which and why.
Result<void> set_limits(const Hierarchies& hierarchies, const std::string& prefix, const std::string& name,
                        const Limits& limits);

}  // namespace partita::deliver
