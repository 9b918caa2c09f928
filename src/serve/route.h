// The table of routes: what openapi.yaml describes, and a test compares.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/caller.h"
#include "base/error.h"
#include "serve/http.h"
#include "serve/service.h"

namespace partita::serve {

// Who may ask: everyone without a name (only on the Unix socket and for health over TCP), viewers, users,
// administrators.
enum class Access { anyone, viewer, user, administrator };
enum class Body { none, optional_json, json };

struct Call {
  Service& service;
  const Request& request;
  const api::Caller& caller;
  std::string who;        // key of the caller, for limits
  bool local = false;     // through the Unix socket
  std::string_view name;  // what stands at {name}
};

struct Route {
  std::string_view method, path;
  Access access = Access::viewer;
  Body body = Body::none;
  bool changes = false;  // what readers see
  Result<Response> (*handle)(const Call&) = nullptr;
};

std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::string name;                     // what stands at {name}
  std::vector<std::string_view> allow;  // methods that the path has; empty: no such path
};
Match find_route(std::string_view method, std::string_view path);

// Of routes_node.cpp, routes_lease.cpp, routes_events.cpp.
Result<Response> get_gpus(const Call&);
Result<Response> get_layouts(const Call&);
Result<Response> post_plan(const Call&);
Result<Response> post_apply(const Call&);
Result<Response> post_assert(const Call&);
Result<Response> get_doctor(const Call&);
Result<Response> get_health(const Call&);
Result<Response> get_openapi(const Call&);
Result<Response> get_metrics(const Call&);
Result<Response> get_policy(const Call&);
Result<Response> get_leases(const Call&);
Result<Response> post_leases(const Call&);
Result<Response> get_lease(const Call&);
Result<Response> delete_lease(const Call&);
Result<Response> post_renew(const Call&);
Result<Response> post_resize(const Call&);
Result<Response> post_park(const Call&);
Result<Response> post_unpark(const Call&);
Result<Response> post_attach(const Call&);
Result<Response> get_events(const Call&);

}  // namespace partita::serve
