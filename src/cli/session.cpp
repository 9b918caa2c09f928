#include "cli/session.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/process.h"
#include "base/text.h"
#include "client/client.h"

namespace partita::cli {
namespace {

constexpr const char* kSystemState = "/var/lib/partita";
constexpr const char* kSystemSocket = "/run/partita/partita.sock";
constexpr const char* kSystemPolicy = "/etc/partita/policy.yaml";
constexpr const char* kSystemCdi = "/var/run/cdi";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> groups_of(const char* user, gid_t group) {
  constexpr int kMost = 256;
  std::vector<gid_t> ids(kMost);
  int count = kMost;
  if (getgrouplist(user, group, ids.data(), &count) < 0) count = kMost;
  ids.resize(static_cast<std::size_t>(count));
  std::vector<std::string> out;
  for (const auto id : ids)
    if (const auto* entry = getgrgid(id)) out.emplace_back(entry->gr_name);
  return out;
}

Result<std::filesystem::path> state_folder() {
  if (geteuid() == 0) return kSystemState;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/')
    return std::filesystem::path(state) / "partita";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".local/state/partita";
  return fail(ErrorCode::invalid, "no folder for partita's state: set XDG_STATE_HOME or HOME to an absolute path");
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

Result<NodePlace> real_place() {
  NodePlace out;
  out.options.state_dir = TRY(state_folder());
  out.options.name = host_name();
  out.socket = kSystemSocket;
  out.options.policy_file = kSystemPolicy;
  if (geteuid() != 0) return out;  // looks only: leases are root's to give
  out.options.cdi_folder = kSystemCdi;
  out.options.confinement_prefix = "partita";
  return out;
}

constexpr auto kHeldMemory = mib(64);  // what a process of a lease has on its device

// An emulated node is its maker's; of root's, others ask the daemon.
Error with_roots_node(Error error, const std::string& name) {
  if (error.code != ErrorCode::not_found || geteuid() == 0 || name.find('/') != std::string::npos) return error;
  node::Options options;
  options.state_dir = std::filesystem::path(kSystemState) / "emulated" / name;
  std::error_code none;
  if (!std::filesystem::exists(options.state_dir, none)) return error;
  const auto socket = node::daemon_socket(options);
  error.details.push_back("root has an emulated node " + name +
                          (socket ? ": partita --server " + socket->string() + " asks its daemon"
                                  : ", for others to use once root serves it: partita --emulate " + name + " serve"));
  return error;
}

Result<NodePlace> emulated_place(catalog::Catalog& catalog, const std::string& argument) {
  auto started = emulator::start(catalog, argument);
  if (!started) return std::unexpected(with_roots_node(std::move(started).error(), argument));
  auto emulated = *std::move(started);
  setenv("PARTITA_EMULATED_NODE", emulated.folder.c_str(), 1);
  NodePlace out;
  auto& options = out.options;
  options.driver.library = TRY(emulator::library_path());
  options.driver.device_root = emulated.folder / "root";
  options.state_dir = emulated.folder;
  options.name = emulated.name;
  options.emulated = true;
  options.reset_command = {TRY(own_program()).string(), "emulate", "reset", emulated.name, "--gpu={bus-id}"};
  options.policy_file = emulated.folder / "policy.yaml";
  options.cdi_folder = emulated.folder / "cdi";
  if (geteuid() == 0) options.confinement_prefix = groups_of_node(emulated);
  options.register_process = [name = emulated.name](std::string_view device, pid_t pid) {
    return emulator::hold(name, device, pid, kHeldMemory);
  };
  out.socket = emulated.folder / "partita.sock";
  out.emulated = std::move(emulated);
  return out;
}

Error with_emulate_form(Error error, const Parsed& parsed) {
  if (error.code == ErrorCode::unavailable && parsed.verb)
    error.details.push_back("without a GPU: partita --emulate dgx-a100 " + std::string(parsed.verb->name));
  return error;
}

// The daemon of this machine, also for users whose own state is elsewhere.
std::optional<std::filesystem::path> daemon_of(const NodePlace& place) {
  if (auto socket = node::daemon_socket(place.options)) return socket;
  if (place.emulated || geteuid() == 0) return std::nullopt;
  auto system = place.options;
  system.state_dir = kSystemState;
  return node::daemon_socket(system);
}

Result<std::unique_ptr<api::Node>> node_at(const std::string& server) {
  if (server.starts_with('/')) return client::connect(std::filesystem::path(server));
  if (server.starts_with("unix:")) return client::connect(std::filesystem::path(server.substr(5)));
  client::Remote remote{server, variable("PARTITA_TOKEN").value_or(""), std::nullopt};
  if (const auto authority = variable("PARTITA_CA")) remote.authority = *authority;
  auto node = TRY(client::connect(remote));
  if (remote.token.empty())
    return fail(ErrorCode::denied, "the server " + server +
                                       " wants a token: set PARTITA_TOKEN to one that partita token "
                                       "create made on its node");
  return node;
}

}  // namespace

std::string groups_of_node(const emulator::EmulatedNode& emulated) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : emulated.folder.string()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("partita-{}-{:08x}", emulated.name, hash);
}

api::Caller this_user(bool emulated) {
  api::Caller caller;
  caller.uid = geteuid();
  caller.administrator = emulated || caller.uid == 0;
  if (const auto* entry = getpwuid(caller.uid)) {
    caller.name = entry->pw_name;
    caller.groups = groups_of(caller.name.c_str(), entry->pw_gid);
  } else {
    caller.name = "uid " + std::to_string(caller.uid);
  }
  return caller;
}

Result<NodePlace> node_place(const Parsed& parsed, catalog::Catalog& catalog) {
  const auto emulate = parsed.text("emulate");
  return emulate ? emulated_place(catalog, *emulate) : real_place();
}

Result<std::vector<std::pair<std::string, std::string>>> emulated_environment(const emulator::EmulatedNode& node) {
  const auto library = TRY(emulator::library_path());
  auto path = library.parent_path().string();
  if (const auto before = variable("LD_LIBRARY_PATH")) path += ":" + *before;
  return std::vector<std::pair<std::string, std::string>>{{"LD_LIBRARY_PATH", path},
                                                          {"PARTITA_EMULATED_NODE", node.folder.string()}};
}

std::string command_words(const Parsed& parsed, const Session& session) {
  const auto typed = [&](std::string_view key) { return parsed.flag(key) && !parsed.from_environment.contains(key); };
  if (session.emulated && typed("emulate")) return "partita --emulate " + session.emulated->name;
  const auto server = parsed.text("server");
  if (!session.emulated && typed("server") && server) return "partita --server " + *server;
  return "partita";
}

Result<std::unique_ptr<Session>> open_session(const Parsed& parsed) {
  const auto server = parsed.text("server");
  const bool emulate = parsed.flag("emulate");
  if (server && emulate && !parsed.from_environment.contains("server"))
    return fail(ErrorCode::invalid, "options --server and --emulate do not go together: give one of them");
  auto session = std::make_unique<Session>(TRY(open_catalog(parsed)), SystemClock{}, this_user(emulate), nullptr);
  if (server && !emulate) {
    session->served = true;
    session->node = TRY(node_at(*server));
    return session;
  }
  auto place = TRY(node_place(parsed, session->catalog));
  session->emulated = place.emulated;
  if (const auto socket = daemon_of(place)) {
    session->served = true;
    session->node = TRY(client::connect(*socket));
    return session;
  }
  auto node = node::open_node(session->catalog, session->clock, std::move(place.options));
  if (!node)
    return std::unexpected(emulate ? std::move(node).error() : with_emulate_form(std::move(node).error(), parsed));
  session->node = *std::move(node);
  return session;
}

}  // namespace partita::cli
