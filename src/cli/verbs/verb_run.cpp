// run: a program confined to a partition of its own, which is given back however it ends.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "api/json.h"
#include "base/text.h"
#include "cli/session.h"
#include "cli/verbs/lease_options.h"
#include "cli/verbs/lease_wait.h"
#include "cli/verbs/run.h"
#include "deliver/launch.h"
#include "node/process_id.h"

namespace partita::cli {
namespace {

constexpr int kSignalled = 128;  // and the signal: the exit status of a program that was killed

using Environment = std::vector<std::pair<std::string, std::string>>;

Result<api::ProcessId> process_id(pid_t pid) {
  if (const auto facts = node::process_facts(pid)) return facts->id;
  return fail(ErrorCode::unavailable, "the process " + std::to_string(pid) + " has ended already");
}

// A lease that ends with this process, if nothing ends it before.
Result<Waited> own_lease(const Parsed& parsed, Session& session) {
  auto request = TRY(lease_request_of(parsed, session, parsed.text("profile")));
  request.holder.kind = api::HolderKind::process;
  request.holder.process = TRY(process_id(getpid()));
  auto leases = TRY(session.node->lease(request));
  return wait_until_active(parsed, session, std::move(leases));
}

Result<Waited> given_lease(const Parsed& parsed, Session& session, const std::string& name) {
  for (const auto& option : parsed.verb->options)
    if (const auto other = key(option); parsed.flag(other) && other != "lease")
      return fail(ErrorCode::invalid,
                  "options --lease and --" + std::string(other) + " do not go together: the lease " + "is what it is");
  auto lease = TRY(lease_called(session, name));
  if (lease.state != api::LeaseState::active)
    return fail(ErrorCode::unavailable,
                "lease " + name + " is " + std::string(to_string(lease.state)) + ": programs run on active ones");
  return Waited{{std::move(lease)}};
}

Result<Environment> environment_of(const Session& session, const api::Lease& lease) {
  Environment out;
  if (session.emulated) out = TRY(emulated_environment(*session.emulated));
  out.emplace_back("PARTITA_LEASE", lease.name);
  if (!lease.grant) return out;
  out.emplace_back("CUDA_VISIBLE_DEVICES", lease.grant->cuda_visible_devices);
  out.emplace_back("NVIDIA_VISIBLE_DEVICES", lease.grant->cuda_visible_devices);
  return out;
}

api::LeaseChange change_of(const Session& session, const api::Lease& lease) {
  api::LeaseChange out;
  out.caller = session.caller;
  out.name = lease.name;
  return out;
}

// Starts the program stopped, confines it, lets it go and waits.
Result<int> run_confined(Session& session, const api::Lease& lease, deliver::StoppedProgram& program) {
  const auto process = TRY(process_id(program.pid()));
  TRY_VOID(session.node->attach(change_of(session, lease), process));
  TRY_VOID(program.go());
  return program.wait();
}

bool ends(const api::Lease& lease) {
  return lease.state == api::LeaseState::releasing || lease.state == api::LeaseState::ended;
}

// Why the program was stopped, when it was because its lease ends: nothing else would tell its user. Who ends a lease
// writes that down after the processes are gone.
void tell_end(Session& session, const api::Lease& lease) {
  constexpr int kLooks = 20;
  constexpr std::chrono::milliseconds kPause{10};
  for (int look = 0; look < kLooks; ++look) {
    const auto now = lease_called(session, lease.name);
    if (!now || now->id != lease.id) return;
    if (ends(*now)) {
      const std::string cause = now->cause.empty() ? "it is being released" : now->cause;
      fmt::print(stderr, "partita: the program was stopped because its lease {} ended: {}\n", lease.name, cause);
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

// What is left of it ends here: a daemon sees to that by itself.
void give_back(Session& session, const api::Lease& lease) {
  constexpr std::chrono::seconds kPatience{15};
  auto released = session.node->release(change_of(session, lease));
  if (released && !session.served) released = wait_until_ended(session, *std::move(released), kPatience);
  if (!released && released.error().code != ErrorCode::not_found) print_error(nullptr, released.error());
}

}  // namespace

Result<int> run_run(const Parsed& parsed) {
  TRY_VOID(format_of(parsed));
  if (!parsed.command) return fail(ErrorCode::invalid, "run needs a command: partita run -p PROFILE -- CMD");
  const auto session = TRY(open_session(parsed));
  if (!session->emulated && parsed.text("server").value_or("/").starts_with("https:"))
    return fail(ErrorCode::invalid, "run works on the node that it is started on: leave --server out");
  const auto given = parsed.text("lease");
  const auto waited = TRY(given ? given_lease(parsed, *session, *given) : own_lease(parsed, *session));
  if (waited.status != 0) return waited.status;
  const auto& lease = waited.leases.front();
  Result<int> status = 0;
  {
    // Signals wait while it lives, so that the lease is given back before one ends this process.
    auto environment = environment_of(*session, lease);
    auto program = environment ? deliver::StoppedProgram::start({*parsed.command, *std::move(environment)})
                               : Result<deliver::StoppedProgram>(std::unexpected(environment.error()));
    status = program ? run_confined(*session, lease, *program) : Result<int>(std::unexpected(program.error()));
    const bool stopped = status && (*status == kSignalled + SIGTERM || *status == kSignalled + SIGKILL);
    if (stopped) tell_end(*session, lease);
    if (!given) give_back(*session, lease);
  }
  return status;
}

}  // namespace partita::cli
