#include "cli/emulated.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/session.h"

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

Error become(const emulator::EmulatedNode& node, const std::vector<std::string>& command) {
  const auto environment = emulated_environment(node);
  if (!environment) return environment.error();
  for (const auto& [name, value] : *environment) setenv(name.c_str(), value.c_str(), 1);
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
