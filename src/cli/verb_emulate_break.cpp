// emulate hold, fault and lose: what goes wrong on a node.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>

#include "base/text.h"
#include "base/units.h"
#include "cli/done.h"
#include "cli/emulated.h"
#include "cli/run.h"
#include "emulator/control/nvml_return.h"

namespace partita::cli {
namespace {

// Registers the process on the node that has the device: the one that is named, else each in turn.
Result<emulator::EmulatedNode> hold_somewhere(const Parsed& parsed, const std::string& device, pid_t pid,
                                              Bytes memory) {
  if (parsed.flag("node") || parsed.flag("emulate")) {
    const auto node = TRY(chosen_node(parsed, std::nullopt));
    TRY_VOID(emulator::hold(node.name, device, pid, memory));
    return node;
  }
  auto nodes = emulator::list();
  if (nodes.empty()) return chosen_node(parsed, std::nullopt);
  const bool by_uuid = device.starts_with("MIG-") || device.starts_with("GPU-");
  if (nodes.size() > 1 && !by_uuid)
    return chosen_node(parsed, std::nullopt);  // an index is on each: says which there are
  Error last;
  for (auto& node : nodes) {
    const auto held = emulator::hold(node.name, device, pid, memory);
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

// A fault of a function that nobody can call would never show.
Result<void> check_function(const std::string& function) {
  if (function == "*") return {};
  const auto path = TRY(emulator::library_path());
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) return fail(ErrorCode::unavailable, std::string("cannot load the emulated library: ") + dlerror());
  const bool known = function.starts_with("nvml") && dlsym(library, function.c_str());
  dlclose(library);
  if (known) return {};
  return fail(ErrorCode::not_found, "the emulated library has no function \"" + function + "\"",
              {"expected a name such as nvmlDeviceCreateGpuInstanceWithPlacement, or \"*\" for all"});
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
  // CMD takes this process over, and with it the pid and start time that are registered.
  const auto node = TRY(hold_somewhere(parsed, device, pid, memory));
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

Result<int> run_emulate_fault(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto function = parsed.text("FUNCTION"), answer = parsed.text("RETURN");
  const auto node = TRY(chosen_node(parsed, std::nullopt));
  if (parsed.flag("clear")) {
    if (function) return fail(ErrorCode::invalid, "option --clear takes back all faults: give no FUNCTION with it");
    TRY_VOID(emulator::clear_faults(node.name));
    TRY_VOID(print_done(format, node.name + ": no faults"));
    return 0;
  }
  if (!function || !answer)
    return fail(ErrorCode::invalid, "emulate fault needs FUNCTION and RETURN, or --clear",
                {"for example: partita emulate fault nvmlDeviceCreateGpuInstanceWithPlacement IN_USE --calls 2"});
  emulator::Fault fault;
  fault.function = *function;
  TRY_VOID(check_function(fault.function));
  fault.answer = TRY(emulator::parse_nvml_return(*answer));
  fault.calls = TRY(parsed.number("calls", 1, 1'000'000'000)).value_or(1);
  fault.gpu = TRY(parsed.number("gpu", 0, 31));
  TRY_VOID(emulator::add_fault(node.name, fault));
  const std::string calls = *fault.calls == 1 ? "call" : std::to_string(*fault.calls) + " calls";
  TRY_VOID(print_done(format, node.name + ": the next " + calls + " of " + fault.function +
                                  (fault.gpu ? " for GPU " + std::to_string(*fault.gpu) : "") + " will return " +
                                  *answer));
  return 0;
}

Result<int> run_emulate_lose(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  // lose NODE GPU, or lose GPU where there is one node only.
  auto name = parsed.text("NODE"), gpu = parsed.text("GPU");
  if (!gpu) {
    gpu = name;
    name.reset();
  }
  const auto node = TRY(chosen_node(parsed, name));
  const bool back = parsed.flag("back");
  TRY_VOID(emulator::set_condition(node.name, gpu.value_or(""),
                                   back ? emulator::Condition::good : emulator::Condition::lost));
  TRY_VOID(print_done(format, node.name + ": GPU " + gpu.value_or("") + (back ? " is back" : " is lost")));
  return 0;
}

}  // namespace partita::cli
