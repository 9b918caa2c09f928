// The life of one apply, once the lock is held.
#pragma once

#include "api/node.h"
#include "base/error.h"
#include "node/context.h"
#include "node/recover.h"

namespace partita::node {

// Recovers what an earlier process left, runs the hooks, plans, journals, acts. All or nothing: when it fails the old
// layout is back, or the error says what is unfinished.
// `before`: what was recovered since the lock was taken.
Result<api::ApplyAnswer> apply_locked(Context& context, const api::PlanRequest& request, Recovered before = {});

}  // namespace partita::node
