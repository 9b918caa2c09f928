// An apply that tells what it does, as lines of JSON: {"step", "steps", "what"}, {"note"}, and last {"result"} or
// {"error"}.
#pragma once

#include "api/json.h"
#include "api/node.h"
#include "serve/http.h"
#include "serve/status_cache.h"

namespace partita::serve {

Response apply_in_lines(api::Node& node, StatusCache& status, api::PlanRequest request, api::Boards boards);

}  // namespace partita::serve
