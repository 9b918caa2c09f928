#include "client/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/json.h"
#include "api/json_read.h"
#include "client/http.h"
#include "client/progress_line.h"

namespace partita::client {
namespace {

using std::chrono::milliseconds;

constexpr int kFirstError = 300;

// The error of a reply, with the node's own code.
Error error_of(const Reply& reply) {
  if (auto error = api::read_error(reply.body)) return *std::move(error);
  return {
      ErrorCode::unavailable, fmt::format("the server answers with HTTP status {} and no reason", reply.status), {}};
}

class RemoteNode final : public api::Node {
 public:
  explicit RemoteNode(std::unique_ptr<Http> http) : http_(std::move(http)) {}

  Result<api::StatusAnswer> status() override { return api::read_status(TRY(get("/v1/gpus?boards=true"))); }
  Result<layout::NodeState> state() override { return TRY(status()).state; }
  Result<api::NodePlanAnswer> plan(const api::PlanRequest& request) override {
    return api::read_plan(TRY(asked({"POST", "/v1/plan", api::to_json(request), {{"Partita-Boards", "true"}}})));
  }
  Result<api::AssertAnswer> check(const api::PlanRequest& request) override {
    return api::read_assert(TRY(post("/v1/assert", api::to_json(request))));
  }
  Result<api::DoctorAnswer> doctor() override { return api::read_doctor(TRY(get("/v1/doctor"))); }
  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress) override;

  Result<std::vector<api::Lease>> lease(const api::LeaseRequest& request) override {
    return api::read_leases(TRY(post("/v1/leases", api::to_json(request))));
  }
  Result<std::vector<api::Lease>> leases(const api::LeaseQuery& query) override;
  Result<api::Lease> release(const api::LeaseChange& change) override {
    return api::read_lease(TRY(asked({"DELETE", route(change, ""), api::to_json(change)})));
  }
  Result<api::Lease> renew(const api::LeaseChange& change, std::optional<milliseconds> duration) override {
    return api::read_lease(TRY(post(route(change, "/renew"), api::to_json(change, duration))));
  }
  Result<api::Lease> resize(const api::LeaseChange& change, const api::Requirement& requirement) override {
    return api::read_lease(TRY(post(route(change, "/resize"), api::to_json(change, requirement))));
  }
  Result<api::Lease> park(const api::LeaseChange& change) override {
    return api::read_lease(TRY(post(route(change, "/park"), api::to_json(change))));
  }
  Result<api::Lease> unpark(const api::LeaseChange& change) override {
    return api::read_lease(TRY(post(route(change, "/unpark"), api::to_json(change))));
  }
  Result<api::Lease> attach(const api::LeaseChange& change, const api::ProcessId& process) override {
    return api::read_lease(TRY(post(route(change, "/attach"), api::to_json(change, process))));
  }
  Result<std::vector<api::Event>> events(const api::EventQuery& query) override {
    return api::read_events(
        TRY(get(fmt::format("/v1/events?after={}&limit={}&wait_ms={}", query.after, query.limit, query.wait.count()))));
  }
  Result<api::PolicyAnswer> policy(const api::Caller& /*caller*/) override {
    return api::read_policy_answer(TRY(get("/v1/policy")));
  }

 private:
  static std::string route(const api::LeaseChange& change, std::string_view verb) {
    return "/v1/leases/" + percent_encoded(change.name) + std::string(verb);
  }
  // The body of an answer that is no error.
  Result<std::string> asked(const Ask& ask) {
    auto reply = TRY(http_->ask(ask));
    if (reply.status >= kFirstError) return std::unexpected(error_of(reply));
    return std::move(reply.body);
  }
  Result<std::string> get(std::string target) { return asked({"GET", std::move(target)}); }
  Result<std::string> post(std::string target, std::string body) {
    return asked({"POST", std::move(target), std::move(body)});
  }

  std::unique_ptr<Http> http_;
};

Result<api::ApplyAnswer> RemoteNode::apply(const api::PlanRequest& request, Progress& progress) {
  std::optional<Result<std::string>> end;  // what the last line told
  Ask ask{"POST",
          "/v1/apply",
          api::to_json(request),
          {{"Partita-Boards", "true"}, {"Accept", "application/x-ndjson"}},
          std::chrono::hours(1),
          [&](std::string_view line) {
            if (auto told = tell_line(line, progress)) end = std::move(told);
          }};
  const auto reply = TRY(http_->ask(ask));
  if (reply.status >= kFirstError) return std::unexpected(error_of(reply));
  if (!end)
    return fail(ErrorCode::unavailable,
                "the connection ended before the change did: it goes on, or is finished or rolled back at the node's "
                "next start; partita status tells");
  return api::read_apply(TRY(*std::move(end)));
}

Result<std::vector<api::Lease>> RemoteNode::leases(const api::LeaseQuery& query) {
  constexpr int kMostPerPage = 1000;
  std::vector<api::Lease> out;
  auto target = fmt::format("/v1/leases?after={}&limit={}", query.after,
                            query.limit > 0 ? std::min(query.limit, kMostPerPage) : kMostPerPage);
  if (!query.name.empty()) target += "&name=" + percent_encoded(query.name);
  if (!query.user.empty()) target += "&user=" + percent_encoded(query.user);
  if (query.ended) target += "&ended=true";
  while (!target.empty()) {
    const auto reply = TRY(http_->ask({"GET", target}));
    if (reply.status >= kFirstError) return std::unexpected(error_of(reply));
    auto page = TRY(api::read_leases(reply.body));
    std::ranges::move(page, std::back_inserter(out));
    if (query.limit > 0 && out.size() >= static_cast<std::size_t>(query.limit)) break;
    target = reply.next_page;
  }
  if (query.limit > 0 && out.size() > static_cast<std::size_t>(query.limit))
    out.resize(static_cast<std::size_t>(query.limit));
  return out;
}

}  // namespace

Result<std::unique_ptr<api::Node>> connect(const std::filesystem::path& socket) {
  return std::make_unique<RemoteNode>(TRY(http_to(socket)));
}

Result<std::unique_ptr<api::Node>> connect(const Remote& remote) {
  return std::make_unique<RemoteNode>(TRY(http_to(remote)));
}

}  // namespace partita::client
