#include "node/reset.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "node/command.h"
#include "node/pins.h"

namespace partita::node {
namespace {

bool linked(const layout::Gpu& a, const layout::Gpu& b) {
  return std::ranges::find(a.nvlink_peers, b.pci_bus_id) != a.nvlink_peers.end() ||
         std::ranges::find(b.nvlink_peers, a.pci_bus_id) != b.nvlink_peers.end();
}

bool is_kept_by_others(const layout::GpuInstance& instance) {
  return std::ranges::any_of(instance.pins,
                             [](const layout::Pin& pin) { return pin.reason != layout::Pin::Reason::busy; });
}

}  // namespace

std::vector<const layout::Gpu*> reset_group(const layout::NodeState& state, const layout::Gpu& gpu) {
  std::vector<bool> in(state.gpus.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t i = 0; i < state.gpus.size(); ++i) {
      if (in[i]) continue;
      bool joins = state.gpus[i].uuid == gpu.uuid;
      for (std::size_t k = 0; k < state.gpus.size(); ++k) joins |= in[k] && linked(state.gpus[i], state.gpus[k]);
      in[i] = joins;
      grown |= joins;
    }
  }
  std::vector<const layout::Gpu*> group;
  for (std::size_t i = 0; i < state.gpus.size(); ++i)
    if (in[i]) group.push_back(&state.gpus[i]);
  return group;
}

Result<void> check_idle(const layout::Gpu& gpu, const std::vector<const layout::Gpu*>& group, bool resets, bool force) {
  std::vector<std::string> details;
  std::vector<std::string> others;
  for (const layout::Gpu* member : group) {
    if (member->uuid != gpu.uuid) others.push_back(label(*member));
    for (const layout::Process& process : member->processes)
      details.push_back(fmt::format("{}: {}", label(*member), to_string(process)));
    for (const layout::Pin& pin : member->pins)
      if (!force) details.push_back(fmt::format("{}: {}", label(*member), pin.holder));
    for (const layout::GpuInstance& instance : member->instances)
      if (!force && is_kept_by_others(instance))
        details.push_back(fmt::format("{}: {}", label(*member), describe_pins(*member->board, instance)));
  }
  if (details.empty()) return {};
  const std::string needs = resets ? "resets it" : "needs it idle";
  const std::string together = others.empty() ? "" : fmt::format(" together with {} (NVLink)", join(others, ", "));
  return fail(ErrorCode::busy,
              fmt::format("{}: changing MIG mode {}{}, which something is in the way of; end or release that first",
                          label(gpu), needs, together),
              std::move(details));
}

std::vector<std::string> fill_in(const std::vector<std::string>& command, const std::vector<std::string>& bus_ids) {
  constexpr std::string_view kJoined = "{bus-id}";
  std::vector<std::string> result;
  for (const std::string& argument : command) {
    if (argument == "{bus-ids}") {
      result.insert(result.end(), bus_ids.begin(), bus_ids.end());
      continue;
    }
    std::string filled = argument;
    if (const auto at = filled.find(kJoined); at != std::string::npos)
      filled.replace(at, kJoined.size(), join(bus_ids, ","));
    result.push_back(std::move(filled));
  }
  return result;
}

Result<void> run_reset(const std::vector<std::string>& command, const std::vector<std::string>& bus_ids,
                       std::chrono::milliseconds timeout) {
  const Command call{.argv = fill_in(command, bus_ids), .envs = {}, .workdir = "", .timeout = timeout};
  return in_error(fmt::format("reset of {}", join(bus_ids, ", ")), ErrorCode::driver, run_command(call));
}

}  // namespace partita::node
