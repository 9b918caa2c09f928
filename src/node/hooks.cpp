#include "node/hooks.h"

#include <fmt/format.h>

#include "node/command.h"

namespace partita::node {

Result<void> run_hooks(std::string_view name, const std::vector<layout::Hook>& hooks,
                       std::chrono::milliseconds timeout) {
  for (const layout::Hook& hook : hooks) {
    Command command{.argv = {hook.command},
                    .envs = hook.envs,
                    .workdir = hook.workdir,
                    .timeout = timeout,
                    .stoppable = name != "apply-exit"};
    command.argv.insert(command.argv.end(), hook.args.begin(), hook.args.end());
    TRY_VOID(in_error(fmt::format("hook {}", name), ErrorCode::unavailable, run_command(command)));
  }
  return {};
}

}  // namespace partita::node
