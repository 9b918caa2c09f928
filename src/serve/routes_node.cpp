// GPUs, layouts, plan, apply, and what tells about the server itself.
#include <fmt/format.h>

#include <memory>

#include "api/json.h"
#include "api/json_read.h"
#include "base/text.h"
#include "serve/openapi.h"
#include "serve/progress_lines.h"
#include "serve/query.h"
#include "serve/route.h"

namespace partita::serve {
namespace {

constexpr int kNotModified = 304;
constexpr int kPreconditionFailed = 412;

// One of a list of entity tags, or "*".
bool names_tag(const std::string& header, const std::string& etag) {
  for (const auto& each : split(header, ',')) {
    auto tag = trim(each);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == "*" || tag == etag) return true;
  }
  return false;
}

Result<Response> node_text(const Call& call, bool as_layout) {
  Query query(call.request);
  const bool boards = !as_layout && query.flag("boards");
  const auto label = as_layout ? query.text("label") : std::string();
  TRY_VOID(query.end());
  const auto reading = TRY(call.service.status.get());
  Response out;
  out.headers.emplace_back("ETag", reading->etag);
  if (as_layout) {
    const auto none_match = call.request.header("if-none-match");
    if (none_match && names_tag(*none_match, reading->etag)) {
      out.status = kNotModified;
      return out;
    }
    out.body =
        layout::write_mig_parted_json(layout::describe(reading->status.state, label.empty() ? "current" : label)) +
        '\n';
  } else {
    out.body = boards ? reading->text_with_boards() : reading->text;
  }
  return out;
}

Result<api::PlanRequest> plan_request(const Call& call) {
  const bool same_user = call.local && call.caller.uid == ::geteuid();
  return api::read_plan_request(call.request.body, call.caller, same_user ? api::Hooks::allowed : api::Hooks::refused);
}

// If-Match: the layout is still the one that the caller saw. Looked at when the request begins, and of an apply once
// more when nobody else can change the node: of two that saw the same one changes it.
class Precondition {
 public:
  explicit Precondition(const Request& request) : wanted_(request.header("if-match")) {}

  Result<void> check(const layout::NodeState& state) const {
    if (!wanted_) return {};
    *found_ = layout_etag(state);
    if (names_tag(*wanted_, *found_)) return {};
    return fail(ErrorCode::differs,
                "If-Match: the layout is another one by now (" + *found_ + "): read /v1/layouts again");
  }
  Result<void> check(StatusCache& status) const {
    if (!wanted_) return {};
    return check(TRY(status.get())->status.state);
  }
  Response refusal(const Error& error) const {
    auto out = problem(error, kPreconditionFailed);
    out.headers.emplace_back("ETag", *found_);
    return out;
  }

 private:
  std::optional<std::string> wanted_;
  std::shared_ptr<std::string> found_ = std::make_shared<std::string>();  // copies of this tell each other
};

// The answer, with what If-Match refuses as such.
Result<Response> answered(const Precondition& precondition, Result<Response> result) {
  if (!result && result.error().code == ErrorCode::differs) return precondition.refusal(result.error());
  return result;
}

Result<Response> planned(const Call& call, const Precondition& precondition) {
  const auto request = TRY(plan_request(call));
  TRY_VOID(precondition.check(call.service.status));
  Response out;
  out.body = api::to_json(TRY(call.service.node.plan(request)),
                          call.request.header("partita-boards") ? api::Boards::included : api::Boards::left_out);
  return out;
}

Result<Response> applied(const Call& call, const Precondition& precondition) {
  auto request = TRY(plan_request(call));
  TRY_VOID(precondition.check(call.service.status));
  request.only_if = [precondition](const layout::NodeState& state) { return precondition.check(state); };
  const auto boards = call.request.header("partita-boards") ? api::Boards::included : api::Boards::left_out;
  if (call.request.accepts("application/x-ndjson"))
    return apply_in_lines(call.service.node, call.service.status, std::move(request), boards);
  SilentProgress silent;
  Response out;
  out.body = api::to_json(TRY(call.service.node.apply(request, silent)), boards);
  return out;
}

}  // namespace

Result<Response> get_gpus(const Call& call) { return node_text(call, false); }
Result<Response> get_layouts(const Call& call) { return node_text(call, true); }

Result<Response> post_plan(const Call& call) {
  const Precondition precondition(call.request);
  return answered(precondition, planned(call, precondition));
}

Result<Response> post_apply(const Call& call) {
  const Precondition precondition(call.request);
  return answered(precondition, applied(call, precondition));
}

Result<Response> post_assert(const Call& call) {
  const auto request = TRY(plan_request(call));
  Response out;
  out.body = api::to_json(TRY(call.service.node.check(request)));
  return out;
}

Result<Response> get_doctor(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  Response out;
  out.body = api::to_json(TRY(call.service.node.doctor()));
  return out;
}

Result<Response> get_health(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  Response out;
  out.body = "{\"status\":\"ok\"}\n";
  out.headers.emplace_back("Cache-Control", "no-store");
  return out;
}

Result<Response> get_openapi(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  Response out;
  out.type = "application/yaml";
  out.body = openapi_document();
  return out;
}

Result<Response> get_metrics(const Call& call) {
  Query query(call.request);
  TRY_VOID(query.end());
  Response out;
  out.type = "text/plain; version=0.0.4; charset=utf-8";
  out.body = TRY(call.service.metrics.text());
  return out;
}

}  // namespace partita::serve
