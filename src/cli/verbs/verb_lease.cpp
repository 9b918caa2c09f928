// lease and leases.
#include <unistd.h>

#include <algorithm>

#include "api/json.h"
#include "cli/draw/draw_lease.h"
#include "cli/verbs/lease_options.h"
#include "cli/verbs/lease_wait.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

// In the order of their turns: those that wait come last, by place in line.
void sort_by_turn(std::vector<api::Lease>& leases) {
  std::ranges::stable_sort(leases, {}, [](const api::Lease& lease) { return lease.queue_position.value_or(0); });
}

Result<std::string> leases_text(const Parsed& parsed, Session& session) {
  api::LeaseQuery query;
  query.caller = session.caller;
  query.user = parsed.text("user").value_or("");
  query.ended = parsed.flag("ended");
  auto leases = TRY(session.node->leases(query));
  sort_by_turn(leases);
  const auto format = TRY(format_of(parsed));
  return format == Format::table ? draw_leases(output_look(parsed), leases, session.clock.now()) : api::to_json(leases);
}

Result<int> watch(const Parsed& parsed, Session& session) {
  constexpr std::chrono::seconds kPause{1};
  const bool terminal = output_look(parsed).terminal;
  const StopSignals signals;
  std::string before;
  do {
    const auto text = TRY(leases_text(parsed, session));
    if (text != before) TRY_VOID(print((terminal ? "\033[H\033[2J" : "") + text));
    before = text;
  } while (signals.sleep(kPause) == 0);
  return 0;
}

Result<void> print_granted(const Parsed& parsed, Session& session, Format format,
                           const std::vector<api::Lease>& leases) {
  if (format != Format::table) return print_json(format, api::to_json(leases));
  std::string out;
  for (const auto& lease : leases)
    out += (out.empty() ? "" : "\n") +
           draw_lease(output_look(parsed), lease, session.clock.now(), command_words(parsed, session));
  return print(out);
}

// What was granted reached nobody. A name of one's own can be asked for again; of a made one nobody knows.
Error unread(const Parsed& parsed, Session& session, const std::vector<api::Lease>& leases, Error error) {
  const auto words = command_words(parsed, session);
  for (const auto& lease : leases) {
    auto held = "lease " + lease.name + " is held nevertheless: " + words + " leases " + lease.name + " shows it, " +
                words + " release " + lease.name + " gives it back";
    if (!parsed.flag("name")) {
      api::LeaseChange change;
      change.caller = session.caller;
      change.name = lease.name;
      if (session.node->release(change)) held = "lease " + lease.name + " is given back";
    }
    error.details.push_back(std::move(held));
  }
  return error;
}

}  // namespace

Result<int> run_lease(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  const auto request = TRY(lease_request_of(parsed, *session, parsed.text("PROFILE")));
  auto leases = TRY(session->node->lease(request));
  const auto waited = TRY(wait_until_active(parsed, *session, std::move(leases)));
  if (waited.status != 0) return waited.status;
  const WithoutPipeSignal guard;
  if (auto printed = print_granted(parsed, *session, format, waited.leases); !printed)
    return std::unexpected(unread(parsed, *session, waited.leases, std::move(printed).error()));
  return 0;
}

Result<int> run_leases(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  if (const auto name = parsed.text("NAME")) {
    for (const auto* key : {"user", "ended", "watch"})
      if (parsed.flag(key))
        return fail(ErrorCode::invalid, "leases NAME shows one lease: leave --" + std::string(key) + " out");
    const auto lease = TRY(lease_called(*session, *name));
    TRY_VOID(format == Format::table
                 ? print(draw_lease(output_look(parsed), lease, session->clock.now(), command_words(parsed, *session)))
                 : print_json(format, api::to_json(lease)));
    return 0;
  }
  if (parsed.flag("watch")) {
    if (format != Format::table)
      return fail(ErrorCode::invalid, "option --watch draws for people: leave -o out; programs read /v1/events");
    return watch(parsed, *session);
  }
  const auto text = TRY(leases_text(parsed, *session));
  TRY_VOID(format == Format::table ? print(text) : print_json(format, text));
  return 0;
}

}  // namespace partita::cli
