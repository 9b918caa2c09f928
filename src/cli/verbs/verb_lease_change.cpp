// release, renew, resize, park and unpark.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "api/json.h"
#include "base/text.h"
#include "cli/draw/draw_lease.h"
#include "cli/verbs/lease_options.h"
#include "cli/verbs/lease_wait.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

api::LeaseChange change_of(const Parsed& parsed, const Session& session, const std::string& name) {
  api::LeaseChange out;
  out.caller = session.caller;
  out.name = name;
  out.force = parsed.flag("force");
  return out;
}

// The same error; of an unknown name with the nearest ones, unless it has them.
template <class T>
Result<T> with_nearest(Session& session, const std::string& name, Result<T> result) {
  if (result || result.error().code != ErrorCode::not_found ||
      result.error().message.find("did you mean") != std::string::npos)
    return result;
  const auto lease = lease_called(session, name);
  return lease ? std::move(result) : std::unexpected(lease.error());
}

Result<int> show(const Parsed& parsed, Session& session, const api::Lease& lease) {
  const auto format = TRY(format_of(parsed));
  TRY_VOID(format == Format::table
               ? print(draw_lease(output_look(parsed), lease, session.clock.now(), command_words(parsed, session)))
               : print_json(format, api::to_json(lease)));
  return 0;
}

std::string released_words(const api::Lease& lease) {
  if (lease.state == api::LeaseState::ended) return lease.name + " is released\n";
  auto out = lease.name +
             " is being released: " + (lease.cause.empty() ? "its processes still run" : printable(lease.cause)) + '\n';
  for (const auto& detail : lease.cause_details) out += "  " + printable(detail) + '\n';
  return out;
}

Result<api::Lease> release_one(const Parsed& parsed, Session& session, const std::string& name) {
  constexpr std::chrono::seconds kBeyondGrace{5};
  std::optional<StopSignals> held;  // in the lease's own program the release ends this process, too: it answers before
  if (const char* own = std::getenv("PARTITA_LEASE"); own && own == name) held.emplace();
  auto change = change_of(parsed, session, name);
  if (const auto grace = TRY(duration_option(parsed, "grace", std::chrono::milliseconds(0)))) change.grace = *grace;
  auto lease = with_nearest(session, name, session.node->release(change));
  if (!lease || parsed.flag("no-wait")) return lease;
  return wait_until_ended(session, *std::move(lease), change.grace + kBeyondGrace);
}

// Of one lease by its name.
template <class Change>
Result<int> change_one(const Parsed& parsed, Change change) {
  TRY_VOID(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  const auto name = parsed.text("NAME").value_or("");
  auto changed = with_nearest(*session, name, change(*session, change_of(parsed, *session, name)));
  if (!changed) return std::unexpected(changed.error());
  const auto waited = TRY(wait_until_active(parsed, *session, {*changed}));
  return waited.status != 0 ? Result<int>(waited.status) : show(parsed, *session, waited.leases.front());
}

}  // namespace

Result<int> run_release(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  std::vector<api::Lease> released;
  for (const auto& name : parsed.all("NAME")) {
    auto lease = release_one(parsed, *session, name);
    if (!lease) return std::unexpected(lease.error());
    released.push_back(*std::move(lease));
    if (format == Format::table) TRY_VOID(print(released_words(released.back())));
  }
  if (format != Format::table)
    TRY_VOID(print_json(format, released.size() == 1 ? api::to_json(released.front()) : api::to_json(released)));
  return 0;
}

Result<int> run_renew(const Parsed& parsed) {
  const auto duration = TRY(duration_option(parsed, "for"));
  return change_one(
      parsed, [&](Session& session, const api::LeaseChange& change) { return session.node->renew(change, duration); });
}

Result<int> run_resize(const Parsed& parsed) {
  return change_one(parsed, [&](Session& session, const api::LeaseChange& change) -> Result<api::Lease> {
    const auto requirement = TRY(requirement_of(parsed, session, parsed.text("PROFILE")));
    return session.node->resize(change, requirement);
  });
}

Result<int> run_park(const Parsed& parsed) {
  return change_one(parsed,
                    [](Session& session, const api::LeaseChange& change) { return session.node->park(change); });
}

Result<int> run_unpark(const Parsed& parsed) {
  return change_one(parsed,
                    [](Session& session, const api::LeaseChange& change) { return session.node->unpark(change); });
}

}  // namespace partita::cli
