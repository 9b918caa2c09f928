// What /metrics tells, in Prometheus' text form: the node as it is when asked, and what was counted since the start.
// docs/metrics.md describes each. Thread safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "api/node.h"
#include "base/clock.h"
#include "base/error.h"

namespace partita::serve {

class StatusCache;
class Streams;
struct Route;

class Metrics {
 public:
  Metrics(api::Node& node, const Clock& clock, StatusCache& status, const Streams& streams);
  ~Metrics();

  // An answered request; `route` nullptr: no such route. `took` of those that reached their route.
  void answered(const Route* route, int status, std::optional<std::chrono::duration<double>> took);
  // Something that was asked for and refused.
  void refused(ErrorCode code);

  Result<std::string> text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::serve
