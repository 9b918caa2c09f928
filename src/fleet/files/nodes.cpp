#include "fleet/files/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace partita::fleet {

namespace {

// Hands out the GPUs of each kind, group by group of the plan.
class Dealer {
 public:
  explicit Dealer(const Plan& plan, std::size_t kinds) : hands_(kinds) {
    for (const bool changed : {true, false})
      for (std::size_t g = 0; g < plan.groups.size(); ++g)
        if (touched(plan.groups[g]) == changed)
          hands_[static_cast<std::size_t>(plan.groups[g].kind)].push_back({static_cast<int>(g), plan.groups[g].count});
  }

  int next(int kind) {
    auto& [at, left] = front(kind);
    if (left == 0) return -1;
    --left;
    return at;
  }
  bool any_left(int kind) { return front(kind).second > 0; }

 private:
  std::pair<int, std::int64_t>& front(int kind) {
    auto& hand = hands_[static_cast<std::size_t>(kind)];
    auto& at = at_[kind];
    while (at < hand.size() && hand[at].second == 0) ++at;
    return at < hand.size() ? hand[at] : none_;
  }

  std::vector<std::vector<std::pair<int, std::int64_t>>> hands_;
  std::map<int, std::size_t> at_;
  std::pair<int, std::int64_t> none_{-1, 0};
};

}  // namespace

std::vector<NodeLayout> spread(const FleetFile& file, const Plan& plan) {
  Dealer dealer(plan, file.fleet.kinds.size());
  std::vector<NodeLayout> out;
  std::vector<std::pair<std::size_t, std::size_t>> last;  // layout, GPU
  for (std::size_t g = 0; g < file.groups.size(); ++g) {
    const auto& group = file.groups[g];
    for (std::int64_t n = 0; group.open ? dealer.any_left(group.kinds.front()) : n < group.nodes; ++n) {
      NodeLayout node{static_cast<int>(g), 1, {}};
      for (std::size_t i = 0; i < group.kinds.size(); ++i) {
        const bool off = !group.live.empty() && !group.live[i].mig_on;
        if (off) last.emplace_back(out.size(), i);
        node.gpus.push_back(off ? -1 : dealer.next(group.kinds[i]));
      }
      if (!out.empty() && out.back().group == node.group && out.back().gpus == node.gpus)
        ++out.back().nodes;
      else
        out.push_back(std::move(node));
    }
  }
  for (const auto& [layout, gpu] : last) {
    auto& node = out[layout];
    node.gpus[gpu] = dealer.next(file.groups[static_cast<std::size_t>(node.group)].kinds[gpu]);
  }
  return out;
}

std::vector<TimedGpu> timed_gpus(const FleetFile& file, const std::vector<NodeLayout>& layouts,
                                 const std::vector<int>& kinds) {
  std::map<int, std::vector<TimedGpu>> hands;  // per kind of the room: a group of the plan, or a kind of the fleet
  for (const bool on : {true, false})
    for (std::size_t g = 0; g < file.groups.size(); ++g) {
      const auto& group = file.groups[g];
      const auto layout = std::ranges::find(layouts, static_cast<int>(g), &NodeLayout::group);  // live nodes have one
      for (std::size_t i = 0; i < group.live.size(); ++i)
        if (group.live[i].mig_on == on)
          hands[layout != layouts.end() ? layout->gpus[i] : group.kinds[i]].push_back(
              {static_cast<int>(g), static_cast<int>(i)});
    }
  std::map<int, std::size_t> taken;
  std::vector<TimedGpu> out;
  for (const int kind : kinds) {
    const auto& hand = hands[kind];
    const auto next = taken[kind]++;
    out.push_back(next < hand.size() ? hand[next] : TimedGpu{});
  }
  return out;
}

std::vector<MigOff> mig_to_turn_on(const FleetFile& file, const Plan& plan, const std::vector<NodeLayout>& layouts,
                                   const std::vector<TimedGpu>& timed) {
  std::vector<MigOff> out;
  for (std::size_t g = 0; g < file.groups.size(); ++g) {
    const auto& group = file.groups[g];
    const auto layout = std::ranges::find(layouts, static_cast<int>(g), &NodeLayout::group);  // live nodes have one
    MigOff found{static_cast<int>(g), {}};
    for (std::size_t i = 0; i < group.live.size(); ++i) {
      if (group.live[i].mig_on) continue;
      const bool cut = layout != layouts.end() && touched(plan.groups[static_cast<std::size_t>(layout->gpus[i])]);
      const TimedGpu here{static_cast<int>(g), static_cast<int>(i)};
      if (cut || std::ranges::find(timed, here) != timed.end()) found.gpus.push_back(group.live[i].index);
    }
    if (!found.gpus.empty()) out.push_back(std::move(found));
  }
  return out;
}

namespace {

using Contents = std::vector<std::pair<std::string, int>>;

Contents contents_of(const FleetFile& file, const Plan& plan, int group) {
  Contents out;
  if (group < 0) return out;
  const auto& planned = plan.groups[static_cast<std::size_t>(group)];
  const auto& board = *file.fleet.kinds[static_cast<std::size_t>(planned.kind)].board;
  std::map<int, int> counts;
  for (const auto& instance : planned.instances) ++counts[instance.placed.profile];
  for (const auto& [p, n] : counts) out.emplace_back(board.profiles[static_cast<std::size_t>(p)].name, n);
  return out;
}

layout::MigPartedLabel label_of(const FleetFile& file, const Plan& plan, const NodeLayout& node, std::string name) {
  layout::MigPartedLabel out{std::move(name), {}, 0};
  const auto& live = file.groups[static_cast<std::size_t>(node.group)].live;
  std::vector<std::pair<Contents, std::vector<int>>> alike;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const int index = live.empty() ? static_cast<int>(i) : live[i].index;
    auto contents = contents_of(file, plan, node.gpus[i]);
    if (!live.empty() && !live[i].mig_on && contents.empty()) continue;
    const auto found = std::ranges::find(alike, contents, &std::pair<Contents, std::vector<int>>::first);
    if (found != alike.end())
      found->second.push_back(index);
    else
      alike.emplace_back(std::move(contents), std::vector<int>{index});
  }
  for (auto& [contents, gpus] : alike) {
    layout::MigPartedEntry entry;
    if (alike.size() > 1 || !live.empty()) entry.devices = std::move(gpus);
    entry.mig_enabled = true;
    entry.mig_devices = std::move(contents);
    out.entries.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::vector<NodeFile> mig_parted_files(const FleetFile& file, const Plan& plan,
                                       const std::vector<NodeLayout>& layouts) {
  std::vector<NodeFile> out;
  int last = -1;
  for (const auto& node : layouts) {
    const auto& name = file.groups[static_cast<std::size_t>(node.group)].name;
    const auto before = node.group == last ? out.back().file.labels.size() : 0;
    auto label = label_of(file, plan, node, fmt::format("{}-{}", name, before + 1));
    if (label.entries.empty()) continue;
    if (node.group != last) out.push_back({name, {name + ".yaml", {}}});
    last = node.group;
    out.back().file.labels.push_back(std::move(label));
  }
  return out;
}

}  // namespace partita::fleet
