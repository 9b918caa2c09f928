// What the routes work on.
#pragma once

#include <stop_token>

#include "api/node.h"
#include "base/clock.h"
#include "serve/metrics.h"
#include "serve/status_cache.h"
#include "serve/streams.h"

namespace partita::serve {

struct Service {
  api::Node& node;
  const Clock& clock;
  StatusCache& status;
  Metrics& metrics;
  Streams& streams;
  bool everyone_administers = false;
};

}  // namespace partita::serve
