// Leases and the policy.
#include <fmt/format.h>

#include <algorithm>

#include "api/json.h"
#include "api/json_read.h"
#include "base/text.h"
#include "serve/query.h"
#include "serve/route.h"
#include "serve/secret.h"

namespace partita::serve {
namespace {

Result<Response> lease_answer(const Result<api::Lease>& lease) {
  if (!lease) return std::unexpected(lease.error());
  Response out;
  out.body = api::to_json(*lease);
  return out;
}

}  // namespace

Result<Response> get_leases(const Call& call) {
  constexpr std::int64_t kMostPerPage = 1000;
  Query query(call.request);
  api::LeaseQuery wanted;
  wanted.caller = call.caller;
  wanted.name = query.text("name");
  wanted.user = query.text("user");
  wanted.ended = query.flag("ended");
  wanted.after = query.number("after", 0, 0, std::numeric_limits<std::int64_t>::max());
  wanted.limit = static_cast<int>(query.number("limit", kMostPerPage, 1, kMostPerPage));
  TRY_VOID(query.end());
  const auto limit = static_cast<std::size_t>(wanted.limit);
  ++wanted.limit;  // one more tells whether there is a next page
  auto leases = TRY(call.service.node.leases(wanted));
  Response out;
  if (leases.size() > limit) {
    leases.resize(limit);
    std::string next = fmt::format("/v1/leases?after={}&limit={}", leases.back().id, limit);
    for (const auto* name : {"name", "user", "ended"})
      if (const auto found = call.request.query.find(name); found != call.request.query.end())
        next += fmt::format("&{}={}", name, percent_encoded(found->second));
    out.headers.emplace_back("Link", "<" + next + ">; rel=\"next\"");
  }
  out.body = api::to_json(leases);
  return out;
}

Result<Response> post_leases(const Call& call) {
  auto request = TRY(api::read_lease_request(call.request.body, call.caller));
  if (const auto key = call.request.header("idempotency-key"))
    request.once = api::Once{call.who + ' ' + *key, hash_of(call.request.body)};
  if (request.holder.uid != call.caller.uid && !call.caller.administrator)
    return fail(ErrorCode::denied, fmt::format("holder.uid: only an administrator leases for {}; you are {}",
                                               one_line(request.holder.user), call.caller.name));
  const auto leases = TRY(call.service.node.lease(request));
  Response out;
  constexpr int kCreated = 201;
  out.status = kCreated;
  if (!leases.empty()) out.headers.emplace_back("Location", "/v1/leases/" + percent_encoded(leases.front().name));
  out.body = api::to_json(leases);
  return out;
}

Result<Response> get_lease(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  api::LeaseQuery wanted;
  wanted.caller = call.caller;
  wanted.name = call.name;
  auto found = TRY(call.service.node.leases(wanted));
  if (found.empty()) {
    wanted.ended = true;
    found = TRY(call.service.node.leases(wanted));
  }
  if (!found.empty()) return lease_answer(*std::ranges::max_element(found, {}, &api::Lease::id));
  wanted.name.clear();
  wanted.ended = false;
  std::vector<std::string> names;
  for (const auto& lease : TRY(call.service.node.leases(wanted))) names.push_back(lease.name);
  return fail(ErrorCode::not_found, "no lease " + quote(call.name) + did_you_mean(call.name, names));
}

Result<Response> delete_lease(const Call& call) {
  return lease_answer(
      call.service.node.release(TRY(api::read_lease_change(call.request.body, call.caller, std::string(call.name)))));
}

Result<Response> post_renew(const Call& call) {
  const auto wanted = TRY(api::read_renewal(call.request.body, call.caller, std::string(call.name)));
  return lease_answer(call.service.node.renew(wanted.change, wanted.duration));
}

Result<Response> post_resize(const Call& call) {
  const auto wanted = TRY(api::read_resizing(call.request.body, call.caller, std::string(call.name)));
  return lease_answer(call.service.node.resize(wanted.change, wanted.requirement));
}

Result<Response> post_park(const Call& call) {
  return lease_answer(
      call.service.node.park(TRY(api::read_lease_change(call.request.body, call.caller, std::string(call.name)))));
}

Result<Response> post_unpark(const Call& call) {
  return lease_answer(
      call.service.node.unpark(TRY(api::read_lease_change(call.request.body, call.caller, std::string(call.name)))));
}

Result<Response> post_attach(const Call& call) {
  const auto wanted = TRY(api::read_attachment(call.request.body, call.caller, std::string(call.name)));
  if (!call.local) return fail(ErrorCode::denied, "processes are attached on the node itself, through its socket");
  return lease_answer(call.service.node.attach(wanted.change, wanted.process));
}

Result<Response> get_policy(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  Response out;
  out.body = api::to_json(TRY(call.service.node.policy(call.caller)));
  return out;
}

}  // namespace partita::serve
