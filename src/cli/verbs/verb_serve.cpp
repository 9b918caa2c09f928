// serve: the daemon of a node, in the foreground.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/text.h"
#include "cli/session.h"
#include "cli/verbs/notify.h"
#include "cli/verbs/run.h"
#include "serve/server.h"

namespace partita::cli {
namespace {

void note(std::string_view line) { std::fprintf(stderr, "partita: %s\n", printable(line).c_str()); }

struct NotedWaiting final : Progress {
  void step(int, int, std::string_view) override {}
  void note(std::string_view line) override { cli::note(line); }
};

Result<serve::Options> server_options(const Parsed& parsed, const NodePlace& place) {
  constexpr int kMostRequests = 1'000'000;
  serve::Options out;
  out.socket = parsed.text("socket").value_or(place.socket.string());
  out.socket = std::filesystem::absolute(out.socket);
  out.note = note;
  out.tokens = place.options.state_dir / "tokens.db";
  // Root serves users of their own on an emulated node, too; a user serves only himself.
  out.everyone_administers = place.options.emulated && geteuid() != 0;
  if (const auto requests = TRY(parsed.number("requests", 1, kMostRequests))) out.requests_per_second = *requests;
  const auto listen = parsed.text("listen"), certificate = parsed.text("certificate"), key = parsed.text("key");
  if (!listen && !certificate && !key) return out;
  if (!listen || !certificate || !key)
    return fail(ErrorCode::invalid,
                "options --listen, --certificate and --key go together: there is no TCP without TLS");
  out.tcp = serve::TcpOptions{*listen, *certificate, *key};
  return out;
}

Result<void> set_policy(const Parsed& parsed, NodePlace& place) {
  const auto given = parsed.text("policy");
  if (!given) return {};
  std::error_code error;
  if (!std::filesystem::exists(*given, error))
    return fail(ErrorCode::not_found, "option --policy: no file " + quote(*given));
  place.options.policy_file = std::filesystem::absolute(*given);
  return {};
}

Result<void> make_folder_of(const std::filesystem::path& socket) {
  std::error_code error;
  std::filesystem::create_directories(socket.parent_path(), error);
  if (!error) return {};
  return fail(error == std::errc::permission_denied ? ErrorCode::denied : ErrorCode::unavailable,
              "the folder of the socket " + socket.string() + " cannot be made: " + error.message());
}

void warn_of_policy(node::DaemonNode& node) {
  for (const std::string& line : node.policy_warnings()) note("warning: " + line + ": the limit holds for nobody");
}

// SIGHUP reads the policy again, SIGTERM and SIGINT end it. `signals` are blocked in all threads.
void obey(const sigset_t& signals, node::DaemonNode& node) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGHUP) return;
    const auto reloaded = node.reload();
    if (!reloaded)
      print_error(nullptr, reloaded.error());
    else
      note("the policy is read again");
    warn_of_policy(node);
  }
}

Result<void> serve_until_stopped(serve::Server& server, node::DaemonNode& node, const sigset_t& signals) {
  Result<void> result;
  {
    std::jthread thread([&](const std::stop_token& stop) {
      result = server.run(stop);
      kill(getpid(), SIGTERM);  // an end of its own ends the wait below
    });
    notify("READY=1");
    obey(signals, node);
    notify("STOPPING=1");
  }
  const timespec at_once{};
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
  return result;
}

}  // namespace

Result<int> run_serve(const Parsed& parsed) {
  TRY_VOID(format_of(parsed));
  auto catalog = TRY(open_catalog(parsed));
  auto place = TRY(node_place(parsed, catalog));
  TRY_VOID(set_policy(parsed, place));
  const auto options = TRY(server_options(parsed, place));
  if (const auto socket = node::daemon_socket(place.options))
    return fail(ErrorCode::unavailable, place.options.name + " is served already, at " + socket->string());
  TRY_VOID(make_folder_of(options.socket));
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);  // before any thread is made
  const SystemClock clock;
  NotedWaiting waiting;
  place.options.on_lost = [] { kill(getpid(), SIGTERM); };
  const auto name = place.options.name;
  const auto node = TRY(node::open_daemon(catalog, clock, std::move(place.options), options.socket, &waiting));
  warn_of_policy(*node);
  const auto server = TRY(serve::Server::open(*node, clock, options));
  auto sentence = "partita serves " + name + " at " + options.socket.string();
  if (server->tcp_port() != 0) sentence += ", and with TLS on port " + std::to_string(server->tcp_port());
  TRY_VOID(print(sentence + '\n'));
  TRY_VOID(serve_until_stopped(*server, *node, signals));
  TRY_VOID(node->grounded());
  return 0;
}

}  // namespace partita::cli
