#include "serve/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace partita::serve {
namespace {

constexpr int kUnauthorized = 401, kMethodNotAllowed = 405, kUnsupportedType = 415, kTooMany = 429;

Response unauthorized(const Error& error) {
  auto out = problem(error, kUnauthorized);
  out.headers.emplace_back("WWW-Authenticate", "Bearer");
  return out;
}

Response too_often(std::chrono::milliseconds wait) {
  auto out = problem({ErrorCode::unavailable, "too many requests: wait a moment", {}}, kTooMany);
  out.headers.emplace_back("Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()));
  return out;
}

std::optional<Response> wrong_route(const Match& match, const Request& head) {
  if (match.route) return std::nullopt;
  if (match.allow.empty())
    return problem(
        {ErrorCode::not_found, "no route " + quote(head.path) + ": /v1/openapi describes all there are", {}});
  std::string allow;
  for (const auto method : match.allow) allow += (allow.empty() ? "" : ", ") + std::string(method);
  auto out =
      problem({ErrorCode::invalid, fmt::format("{} takes {}, not {}", one_line(head.path), allow, head.method), {}},
              kMethodNotAllowed);
  out.headers.emplace_back("Allow", allow);
  return out;
}

std::optional<Response> wrong_body(const Route& route, const Request& head) {
  if (route.body == Body::none) return std::nullopt;
  const auto length = head.header("content-length");
  const bool empty = !head.header("transfer-encoding") && (!length || *length == "0");
  if (empty && route.body == Body::optional_json) return std::nullopt;
  const auto type = head.header("content-type");
  if (type && lower(trim(split(*type, ';').front())) == "application/json") return std::nullopt;
  return problem({ErrorCode::invalid,
                  "Content-Type: expected application/json, found " + (type ? quote(*type) : std::string("none")),
                  {}},
                 kUnsupportedType);
}

std::optional<Response> forbidden(const Route& route, const api::Caller& caller) {
  const auto may = caller.administrator ? Access::administrator : caller.viewer ? Access::viewer : Access::user;
  if (may >= route.access) return std::nullopt;
  return problem({ErrorCode::denied,
                  fmt::format("{} {} is for {}s; {} is {}", route.method, route.path,
                              route.access == Access::administrator ? "administrator" : "user", caller.name,
                              caller.viewer ? "a viewer" : "a user"),
                  {}});
}

}  // namespace

Result<api::Caller> TokenBook::caller_of(std::string_view secret) {
  const std::scoped_lock lock(mutex_);
  if (!table_) {
    std::error_code ignored;
    if (!std::filesystem::exists(file_, ignored)) return serve::caller_of(file_, secret, clock_.now());
    table_.emplace(TRY(TokenTable::open(file_, TokenTable::Access::existing)));
  }
  return serve::caller_of(*table_, secret, clock_.now());
}

std::optional<Response> Session::identify(const Request& head, const Peer& peer) {
  if (peer.uid) {
    caller_ = shared_.login.local(*peer.uid);
    who_ = "uid " + std::to_string(*peer.uid);
    if (caller_.administrator) return std::nullopt;
  } else {
    who_ = "from " + peer.address;
    constexpr std::string_view kBearer = "bearer ";
    const auto given = head.header("authorization");
    if (!given || lower(given->substr(0, kBearer.size())) != kBearer) {
      if (const auto wait = shared_.strangers.take(who_)) return too_often(*wait);
      if (match_.route && match_.route->access == Access::anyone) return std::nullopt;
      return unauthorized({ErrorCode::denied, "a token is needed: Authorization: Bearer partita_...", {}});
    }
    const auto caller = shared_.tokens.caller_of(trim(std::string_view(*given).substr(kBearer.size())));
    if (!caller) {
      if (const auto wait = shared_.strangers.take(who_)) return too_often(*wait);
      return caller.error().code == ErrorCode::denied ? unauthorized(caller.error()) : problem(caller.error());
    }
    caller_ = *caller;
    who_ = "user " + caller_.name;
  }
  if (const auto wait = shared_.rate.take(who_)) return too_often(*wait);
  return std::nullopt;
}

std::optional<Response> Session::refuse_head(const Request& head, const Peer& peer) {
  caller_ = {};
  match_ = find_route(head.method, head.path);
  if (auto refusal = identify(head, peer)) return refusal;
  if (auto refusal = wrong_route(match_, head)) return refusal;
  const auto& route = *match_.route;
  if (route.access != Access::anyone)
    if (auto refusal = forbidden(route, caller_)) return refusal;
  if (const auto key = head.header("idempotency-key"))
    if (const auto good = check_idempotency_key(*key); !good) return problem(good.error());
  return wrong_body(route, head);
}

std::optional<Response> Session::refuse(const Request& head, const Peer& peer) {
  auto refusal = refuse_head(head, peer);
  if (refusal) shared_.service.metrics.answered(match_.route, refusal->status, {});
  return refusal;
}

Response Session::run(const Request& request, const Peer& peer) {
  const Route& route = *match_.route;
  const Call call{shared_.service, request, caller_, who_, peer.uid.has_value(), match_.name};
  auto result = route.handle(call);
  if (route.changes) shared_.service.status.changed();
  if (result) return *std::move(result);
  if (route.changes) shared_.service.metrics.refused(result.error().code);
  auto out = problem(result.error());
  if (result.error().code == ErrorCode::unavailable) out.headers.emplace_back("Retry-After", "1");
  return out;
}

Response Session::answer(const Request& request, const Peer& peer) {
  const auto begun = std::chrono::steady_clock::now();
  const auto key = request.method == "POST" ? request.header("idempotency-key") : std::nullopt;
  Response out;
  if (!key) {
    out = run(request, peer);
  } else if (auto before = shared_.idempotency.begin(who_, *key, request.path + '\n' + request.body); !before) {
    constexpr int kUnprocessable = 422;
    const bool other = before.error().code == ErrorCode::invalid;
    out = problem(before.error(), other ? std::optional(kUnprocessable) : std::nullopt);
  } else if (std::optional<Response>& earlier = *before; earlier) {
    out = *std::move(earlier);
    out.headers.emplace_back("Idempotent-Replayed", "true");
  } else {
    out = run(request, peer);
    shared_.idempotency.end(who_, *key, out);
  }
  shared_.service.metrics.answered(match_.route, out.status, std::chrono::steady_clock::now() - begun);
  return out;
}

}  // namespace partita::serve
