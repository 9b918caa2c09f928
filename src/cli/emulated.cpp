#include "cli/emulated.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/session.h"
#include "emulator/namespace/enter.h"

namespace partita::cli {

Result<emulator::EmulatedNode> chosen_node(const Parsed& parsed, const std::optional<std::string>& given) {
  for (const auto& name : {given, parsed.text("node"), parsed.text("emulate")})
    if (name) return emulator::find(*name);
  auto nodes = emulator::list();
  if (nodes.size() == 1) return emulator::find(nodes.front().name);
  if (nodes.empty())
    return fail(ErrorCode::not_found, "no emulated node runs: start one with partita emulate start dgx-a100");
  std::vector<std::string> names;
  for (const auto& node : nodes) names.push_back(node.name);
  return fail(ErrorCode::invalid, "which emulated node? there are " + join(names, ", "));
}

namespace {

// The node's files, where this process may show them; else the library alone.
Result<void> show_files(const Parsed& parsed, const emulator::EmulatedNode& node) {
  if (parsed.flag("library-only")) return {};
  const auto view = emulator::enter_node(node.folder);
  if (view) {
    if (view->devices_closed)
      tell(parsed, "another driver has the device numbers of the emulated node: its device nodes cannot be opened");
    return {};
  }
  if (view.error().code != ErrorCode::denied) return std::unexpected(view.error());
  tell(parsed,
       "only NVML and nvidia-smi are emulated for this command: /dev, /proc and /sys are this machine's own (a "
       "view of the node's takes root; --library-only silences this)");
  return {};
}

Result<void> set_environment(const emulator::EmulatedNode& node) {
  for (const auto& [name, value] : TRY(emulated_environment(node))) setenv(name.c_str(), value.c_str(), 1);
  const auto programs = TRY(emulator::library_path()).parent_path() / "bin";
  const char* before = std::getenv("PATH");
  setenv("PATH",
         (programs.string() + ":" + (before ? before : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
             .c_str(),
         1);
  return {};
}

}  // namespace

Error become(const Parsed& parsed, const emulator::EmulatedNode& node, const std::vector<std::string>& command) {
  if (auto shown = show_files(parsed, node); !shown) return std::move(shown).error();
  if (auto set = set_environment(node); !set) return std::move(set).error();
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int error = errno;
  return {error == ENOENT   ? ErrorCode::not_found
          : error == EACCES ? ErrorCode::denied
                            : ErrorCode::unavailable,
          "cannot run " + command.front() + ": " + std::strerror(error),
          {}};
}

}  // namespace partita::cli
