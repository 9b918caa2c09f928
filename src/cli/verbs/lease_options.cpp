#include "cli/verbs/lease_options.h"

#include "base/duration.h"
#include "base/host_limits.h"
#include "base/text.h"

namespace partita::cli {
namespace {

// Exactly one way to say the size.
Result<void> check_size(const Parsed& parsed, const std::optional<std::string>& profile) {
  std::vector<std::string> given;
  if (profile) given.push_back("the profile " + *profile);
  if (parsed.flag("memory") || parsed.flag("sms"))
    given.emplace_back(parsed.flag("memory") ? "--memory" : "--sms");  // both together are one size
  for (const auto* key : {"whole-gpu", "workload"})
    if (parsed.flag(key)) given.push_back(std::string("--") + key);
  if (given.size() > 1)
    return fail(ErrorCode::invalid, given[0] + " and " + given[1] + " do not go together: give one of them");
  if (given.empty()) {
    const bool positional = !parsed.verb->positionals.empty();
    return fail(ErrorCode::invalid,
                std::string(parsed.verb->name) + " needs a size: " + (positional ? "PROFILE (3g.20gb)" : "-p PROFILE") +
                    ", --memory SIZE or --sms N",
                {"partita boards BOARD shows the profiles of a board"});
  }
  if (parsed.flag("workload")) return {};
  for (const auto* key : {"throughput", "latency", "batch", "training", "precision"})
    if (parsed.flag(key) && !parsed.from_environment.contains(key))
      return fail(ErrorCode::invalid, "option --" + std::string(key) + " is about a workload: add --workload NAME");
  return {};
}

Result<api::Priority> priority_option(const Parsed& parsed) {
  const auto text = parsed.text("priority");
  if (!text) return api::Priority::normal;
  if (const auto found = api::priority(*text)) return *found;
  return fail(ErrorCode::invalid, "option --priority: expected low, normal or high, found " + quote(*text));
}

Result<std::map<std::string, std::string>> labels_option(const Parsed& parsed) {
  std::map<std::string, std::string> out;
  for (const auto& text : parsed.all("label")) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::invalid, "option --label: expected KEY=TEXT, found " + quote(text));
    const auto key = text.substr(0, equals);
    if (!out.emplace(key, text.substr(equals + 1)).second)
      return fail(ErrorCode::invalid, "option --label: " + quote(key) + " is given twice");
  }
  return out;
}

}  // namespace

Result<std::optional<std::chrono::milliseconds>> duration_option(const Parsed& parsed, std::string_view key,
                                                                 std::chrono::milliseconds least) {
  const auto text = parsed.text(key);
  if (!text) return std::nullopt;
  const auto out = parse_duration(*text);
  if (!out) return std::unexpected(in_context("option --" + std::string(key), out.error()));
  if (*out < least) return fail(ErrorCode::invalid, "option --" + std::string(key) + ": expected more than nothing");
  return std::optional(*out);
}

Result<std::optional<Bytes>> bytes_option(const Parsed& parsed, std::string_view key) {
  const auto text = parsed.text(key);
  if (!text) return std::nullopt;
  const auto out = parse_bytes(*text);
  if (!out) return std::unexpected(in_context("option --" + std::string(key), out.error()));
  if (out->value == 0) return fail(ErrorCode::invalid, "option --" + std::string(key) + ": expected more than nothing");
  return std::optional(*out);
}

Result<api::Requirement> requirement_of(const Parsed& parsed, Session& session,
                                        const std::optional<std::string>& profile) {
  constexpr int kMostSms = 100'000, kMostStart = 31;
  TRY_VOID(check_size(parsed, profile));
  api::Requirement out;
  out.profile = profile.value_or("");
  out.memory = TRY(bytes_option(parsed, "memory"));
  out.sms = TRY(parsed.number("sms", 1, kMostSms));
  out.whole_gpu = parsed.flag("whole-gpu");
  out.bare = parsed.flag("bare");
  if (const auto list = parsed.text("compute"))
    for (const auto& part : split(*list, ',')) out.compute.emplace_back(trim(part));
  out.gpu = parsed.text("gpu");
  out.start = TRY(parsed.number("at", 0, kMostStart));
  out.board = parsed.text("board");
  out.exclusive_gpu = parsed.flag("exclusive-gpu");
  out.same_gpu_as = parsed.text("same-gpu-as");
  if (!parsed.flag("workload")) return out;
  const auto choice = TRY(recommended(parsed, session));
  out.profile = choice.profile;
  out.board = choice.board;
  if (TRY(format_of(parsed)) == Format::table) tell(parsed, choice.says);
  return out;
}

Result<api::LeaseRequest> lease_request_of(const Parsed& parsed, Session& session,
                                           const std::optional<std::string>& profile) {
  api::LeaseRequest out;
  out.caller = session.caller;
  out.holder.uid = session.caller.uid;
  out.holder.user = session.caller.name;
  out.name = parsed.text("name").value_or("");
  if (parsed.flag("name") && out.name.empty()) return fail(ErrorCode::invalid, "option --name: the name is empty");
  out.count = TRY(parsed.number("count", 1, api::kMostLeasesAtOnce)).value_or(1);
  out.duration = TRY(duration_option(parsed, "for"));
  out.priority = TRY(priority_option(parsed));
  out.labels = TRY(labels_option(parsed));
  out.no_wait = parsed.flag("no-wait");
  out.host_limits.cpus = TRY(parsed.real("cpus", kFewestCpus, kMostCpus));
  out.host_limits.memory = TRY(bytes_option(parsed, "memory-limit"));
  out.requirement = TRY(requirement_of(parsed, session, profile));
  return out;
}

}  // namespace partita::cli
