// mig-parted's hooks: a site's own commands around an apply.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "layout/mig_parted_file.h"

namespace partita::node {

// Runs them in order; the first that fails ends it: `unavailable` with what it wrote. `name` is the key in the hooks
// file: "pre-apply-mode". A stop signal that waits (see signals.h) ends them, except the last ones, "apply-exit".
Result<void> run_hooks(std::string_view name, const std::vector<layout::Hook>& hooks,
                       std::chrono::milliseconds timeout);

}  // namespace partita::node
