// emulate hold: a process that has a device.
#include <signal.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/draw/done.h"
#include "cli/emulated.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

// Registers the process on the node that has the device: the one that is named, else each in turn.
Result<emulator::EmulatedNode> hold_somewhere(const Parsed& parsed, const std::string& device, pid_t pid, Bytes memory,
                                              double load) {
  if (parsed.flag("node") || parsed.flag("emulate")) {
    const auto node = TRY(chosen_node(parsed, std::nullopt));
    TRY_VOID(emulator::hold(node.name, device, pid, memory, load));
    return node;
  }
  auto nodes = emulator::list();
  if (nodes.empty()) return chosen_node(parsed, std::nullopt);
  const bool by_uuid = device.starts_with("MIG-") || device.starts_with("GPU-");
  if (nodes.size() > 1 && !by_uuid)
    return chosen_node(parsed, std::nullopt);  // an index is on each: says which there are
  Error last;
  for (auto& node : nodes) {
    const auto held = emulator::hold(node.name, device, pid, memory, load);
    if (held) return std::move(node);
    last = held.error();
    if (last.code != ErrorCode::not_found) break;
  }
  return std::unexpected(std::move(last));
}

void block_stop_signals(sigset_t& signals) {
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

Result<pid_t> pid_of(const Parsed& parsed) {
  if (const auto pid = TRY(parsed.number("pid", 1, 1 << 22))) {
    if (parsed.command)
      return fail(ErrorCode::invalid, "options --pid and -- CMD do not go together: give one of them");
    return static_cast<pid_t>(*pid);
  }
  return getpid();
}

}  // namespace

Result<int> run_emulate_hold(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto device = parsed.text("DEVICE").value_or("");
  const auto memory = TRY(parse_bytes(parsed.text("memory").value_or("256MiB")));
  const auto pid = TRY(pid_of(parsed));
  const double load = TRY(parsed.real("load", 0, 100)).value_or(100) / 100;
  // CMD takes this process over, and with it the pid and start time that are registered.
  const auto node = TRY(hold_somewhere(parsed, device, pid, memory, load));
  if (parsed.command) return std::unexpected(become(parsed, node, *parsed.command));
  TRY_VOID(print_done(
      format, "pid " + std::to_string(pid) + " holds " + to_string(memory) + " of " + device + " on " + node.name));
  if (parsed.flag("pid")) return 0;
  sigset_t signals;
  block_stop_signals(signals);
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}

}  // namespace partita::cli
