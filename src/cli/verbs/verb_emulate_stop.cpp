// emulate stop: a node goes with all that its leases had.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "cli/draw/done.h"
#include "cli/emulated.h"
#include "cli/session.h"
#include "cli/verbs/run.h"
#include "deliver/confine.h"
#include "emulator/control/control.h"
#include "node/lock.h"
#include "node/paths.h"

namespace partita::cli {
namespace {

Result<void> check_unserved(const std::string& name, const std::filesystem::path& folder) {
  node::Options options;
  options.state_dir = folder;
  const auto holder = node::lock_holder(node::lock_file(options));
  if (!holder) return {};
  return fail(ErrorCode::busy, fmt::format("emulated node {} is {} by {}; end it first", name,
                                           holder->socket.empty() ? "in use" : "served", node::to_string(*holder)));
}

// Of those that the driver does not know: they do not use their device now.
Result<void> check_ended(const std::string& name, const deliver::Confinement& confinement) {
  std::vector<std::string> named;
  for (const auto& lease : confinement.leases())
    for (const pid_t pid : TRY(confinement.processes(lease)))
      named.push_back(fmt::format("pid {} ({}) has lease {}", pid, one_line(process_name(pid)), lease));
  if (named.empty()) return {};
  auto message =
      fmt::format("emulated node {} is in use by {}; end them first", name, count_of(named.size(), "process"));
  return fail(ErrorCode::busy, std::move(message), std::move(named));
}

}  // namespace

Result<int> run_emulate_stop(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  // By name, not found first: a node whose state is damaged can be stopped too.
  auto name = parsed.text("NODE");
  if (!name) name = TRY(chosen_node(parsed, std::nullopt)).name;
  const auto nodes = emulator::list();
  const auto node = std::ranges::find(nodes, *name, &emulator::EmulatedNode::name);
  std::optional<deliver::Confinement> confinement;
  if (node != nodes.end()) {
    TRY_VOID(check_unserved(*name, node->folder));
    if (geteuid() == 0)
      if (auto opened = deliver::Confinement::open(groups_of_node(*node))) confinement = *std::move(opened);
  }
  if (confinement) TRY_VOID(check_ended(*name, *confinement));
  TRY_VOID(emulator::stop(*name));
  // Nobody would look for them again. One that cannot go now has something in it that came just now.
  if (confinement)
    for (const auto& lease : confinement->leases()) (void)confinement->dissolve(lease);
  TRY_VOID(print_done(format, *name + " is stopped"));
  return 0;
}

}  // namespace partita::cli
