#include "serve/route.h"

#include <algorithm>
#include <array>

namespace partita::serve {
namespace {

constexpr std::array kRoutes{
    Route{"GET", "/v1/gpus", Access::viewer, Body::none, false, get_gpus},
    Route{"GET", "/v1/layouts", Access::viewer, Body::none, false, get_layouts},
    Route{"POST", "/v1/plan", Access::viewer, Body::json, false, post_plan},
    Route{"POST", "/v1/apply", Access::administrator, Body::json, true, post_apply},
    Route{"POST", "/v1/assert", Access::viewer, Body::json, false, post_assert},
    Route{"GET", "/v1/doctor", Access::viewer, Body::none, false, get_doctor},
    Route{"GET", "/v1/leases", Access::viewer, Body::none, false, get_leases},
    Route{"POST", "/v1/leases", Access::user, Body::json, true, post_leases},
    Route{"GET", "/v1/leases/{name}", Access::viewer, Body::none, false, get_lease},
    Route{"DELETE", "/v1/leases/{name}", Access::user, Body::optional_json, true, delete_lease},
    Route{"POST", "/v1/leases/{name}/renew", Access::user, Body::optional_json, true, post_renew},
    Route{"POST", "/v1/leases/{name}/resize", Access::user, Body::json, true, post_resize},
    Route{"POST", "/v1/leases/{name}/park", Access::user, Body::optional_json, true, post_park},
    Route{"POST", "/v1/leases/{name}/unpark", Access::user, Body::optional_json, true, post_unpark},
    Route{"POST", "/v1/leases/{name}/attach", Access::user, Body::json, true, post_attach},
    Route{"GET", "/v1/events", Access::viewer, Body::none, false, get_events},
    Route{"GET", "/v1/policy", Access::viewer, Body::none, false, get_policy},
    Route{"GET", "/v1/health", Access::anyone, Body::none, false, get_health},
    Route{"GET", "/v1/openapi", Access::anyone, Body::none, false, get_openapi},
    Route{"GET", "/metrics", Access::viewer, Body::none, false, get_metrics},
};

constexpr std::string_view kName = "{name}";

// Whether `path` is `pattern`, with something without a slash at {name}.
bool matches(std::string_view pattern, std::string_view path, std::string& name) {
  const auto at = pattern.find(kName);
  if (at == std::string_view::npos) return pattern == path;
  const auto before = pattern.substr(0, at), after = pattern.substr(at + kName.size());
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) return false;
  const auto found = path.substr(before.size(), path.size() - before.size() - after.size());
  if (found.find('/') != std::string_view::npos) return false;
  name = found;
  return true;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match find_route(std::string_view method, std::string_view path) {
  Match out;
  for (const auto& route : kRoutes) {
    if (!matches(route.path, path, out.name)) continue;
    out.allow.push_back(route.method);
    if (route.method == "GET") out.allow.emplace_back("HEAD");
    if (route.method == method) out.route = &route;
  }
  return out;
}

}  // namespace partita::serve
