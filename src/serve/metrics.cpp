#include "serve/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <iterator>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "serve/families.h"
#include "serve/route.h"
#include "serve/status_cache.h"
#include "serve/streams.h"

namespace partita::serve {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

void append(Families& to, Families from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

struct Metrics::Impl {
  Impl(api::Node& a_node, const Clock& a_clock, StatusCache& a_status, const Streams& a_streams)
      : node(a_node),
        clock(a_clock),
        status(a_status),
        streams(a_streams),
        requests(prometheus::BuildCounter()
                     .Name("partita_http_requests_total")
                     .Help("Requests that were answered.")
                     .Register(registry)),
        seconds(prometheus::BuildHistogram()
                    .Name("partita_http_request_duration_seconds")
                    .Help("From the end of the request to its answer, event streams left out.")
                    .Register(registry)),
        refusals(prometheus::BuildCounter()
                     .Name("partita_refusals_total")
                     .Help("Changes that were asked for and refused, by the error's code.")
                     .Register(registry)) {
    for (const auto& route : routes())
      durations.emplace(
          &route, &seconds.Add({{"method", std::string(route.method)}, {"route", std::string(route.path)}}, kSeconds));
    for (const auto code :
         {ErrorCode::invalid, ErrorCode::not_found, ErrorCode::no_space, ErrorCode::impossible, ErrorCode::busy,
          ErrorCode::denied, ErrorCode::driver, ErrorCode::unavailable, ErrorCode::internal})
      reasons.emplace(code, &refusals.Add({{"reason", std::string(name(code))}}));
  }

  prometheus::Counter& counter(const Route* route, int code) {
    const std::scoped_lock lock(mutex);
    auto*& known = counters[{route, code}];
    if (!known)
      known = &requests.Add({{"method", route ? std::string(route->method) : ""},
                             {"route", route ? std::string(route->path) : ""},
                             {"code", std::to_string(code)}});
    return *known;
  }

  api::Node& node;
  const Clock& clock;
  StatusCache& status;
  const Streams& streams;
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests;
  prometheus::Family<prometheus::Histogram>& seconds;
  prometheus::Family<prometheus::Counter>& refusals;
  std::unordered_map<const Route*, prometheus::Histogram*> durations;
  std::map<ErrorCode, prometheus::Counter*> reasons;
  std::mutex mutex;
  std::map<std::pair<const Route*, int>, prometheus::Counter*> counters;
};

Metrics::Metrics(api::Node& node, const Clock& clock, StatusCache& status, const Streams& streams)
    : impl_(std::make_unique<Impl>(node, clock, status, streams)) {}
Metrics::~Metrics() = default;

void Metrics::answered(const Route* route, int status, std::optional<std::chrono::duration<double>> took) {
  impl_->counter(route, status).Increment();
  if (route && took) impl_->durations.at(route)->Observe(took->count());
}

void Metrics::refused(ErrorCode code) {
  const auto found = impl_->reasons.find(code);
  if (found != impl_->reasons.end()) found->second->Increment();
}

Result<std::string> Metrics::text() {
  const auto reading = TRY(impl_->status.get());
  api::LeaseQuery all;
  all.caller.viewer = true;
  const auto leases = TRY(impl_->node.leases(all));
  const auto holders = holders_of(leases);
  Families families = gpu_families(reading->status, holders);
  append(families, instance_families(reading->status, holders));
  append(families, lease_families(leases, impl_->clock.now()));
  if (const auto measures = impl_->node.measures()) append(families, measure_families(*measures));
  auto streams = gauge_family("partita_event_streams", "Event streams and long polls that are open.");
  add_gauge(streams, impl_->streams.open());
  families.push_back(std::move(streams));
  append(families, impl_->registry.Collect());
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace partita::serve
