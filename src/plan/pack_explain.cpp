#include "plan/pack_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "base/text.h"
#include "plan/pack_search.h"
#include "plan/target.h"

namespace partita::plan {

namespace {

using layout::Gpu;
using layout::GpuInstance;

constexpr std::size_t kMaxPairs = 200;  // pairs of pinned instances tried before settling for a set that helps

// A pinned instance on one of the GPUs.
struct Obstacle {
  std::size_t gpu = 0;
  std::size_t instance = 0;
  int size = 0;  // thousandths of the GPU
  bool movable = false;
};

bool can_pack(std::span<const Gpu> gpus, std::span<const DemandItem> demand) {
  const auto problem = make_problem(gpus, demand);
  return problem && feasible(*problem);
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

class Explainer {
 public:
  Explainer(std::span<const Gpu> gpus, std::span<const DemandItem> demand, const PackProblem& problem)
      : gpus_(gpus), demand_(demand), problem_(problem) {}

  Error explain() const {
    if (!can_pack(switched_on(emptied()), demand_)) return impossible();
    auto details = per_item(gpus_);
    append(details, in_the_way());
    append(details, taking_no_part());
    auto message = fmt::format("{} {} not fit on this node now", asked(), total() == 1 ? "does" : "do");
    if (const auto help = cheapest_help()) message += "; " + *help;
    return Error{ErrorCode::no_space, std::move(message), std::move(details)};
  }

 private:
  long total() const {
    long n = 0;
    for (const auto& item : demand_) n += item.count;
    return n;
  }

  std::string asked() const {
    std::vector<std::string> parts;
    for (const auto& item : demand_)
      if (item.count > 0) parts.push_back(item.count == 1 ? item.name : fmt::format("{} x {}", item.count, item.name));
    return join(parts, ", ");
  }

  std::vector<Gpu> emptied() const {
    std::vector<Gpu> empty(gpus_.begin(), gpus_.end());
    for (auto& gpu : empty) gpu.instances.clear();
    return empty;
  }

  // The same GPUs, with MIG mode on where it only is off.
  static std::vector<Gpu> switched_on(std::vector<Gpu> gpus) {
    for (auto& gpu : gpus)
      if (is_off(gpu)) gpu.mode = layout::MigMode{true, true};
    return gpus;
  }
  static bool is_off(const Gpu& gpu) { return !gpu.fault && gpu.mode && !gpu.mode->current; }

  // Why some GPUs are left out, alike ones on one line.
  std::vector<std::string> taking_no_part() const {
    std::vector<std::pair<std::string, std::vector<int>>> reasons;
    for (const auto& gpu : gpus_) {
      if (!gpu.fault && gpu.mode && gpu.mode->current) continue;
      const std::string why = gpu.fault ? *gpu.fault : gpu.mode ? "MIG mode is off" : "no MIG on this board";
      const auto known = std::ranges::find(reasons, why, [](const auto& reason) { return reason.first; });
      (known == reasons.end() ? reasons.emplace_back(why, std::vector<int>{}) : *known).second.push_back(gpu.index);
    }
    std::vector<std::string> lines;
    for (const auto& [why, indices] : reasons)
      lines.push_back(
          fmt::format("{} {} no part: {}", layout::gpu_names(indices), indices.size() == 1 ? "takes" : "take", why));
    return lines;
  }

  Error impossible() const {
    std::string why;
    for (const auto& item : demand_)
      if (item.count > 0 && !can_serve_anywhere(item)) why += fmt::format("; no GPU that takes part has {}", item.name);
    if (problem_.bins.empty()) why = "; no GPU has MIG mode on and works";
    if (why.empty()) why = "; even with every instance gone there are too few places";
    auto details = per_item(emptied());
    append(details, taking_no_part());
    return Error{ErrorCode::impossible, fmt::format("{} cannot be on this node{}", asked(), why), std::move(details)};
  }

  bool can_serve_anywhere(const DemandItem& item) const {
    return std::ranges::any_of(
        problem_.bins, [&](const Bin& bin) { return item.on_gpu[static_cast<std::size_t>(bin.index)].has_value(); });
  }

  // "3g.20gb: 5 asked, 3 fit when nothing else is asked".
  std::vector<std::string> per_item(std::span<const Gpu> gpus) const {
    std::vector<std::string> lines;
    for (const auto& item : demand_) {
      if (item.count <= 0) continue;
      const int fit = how_many(gpus, item);
      lines.push_back(fit >= item.count
                          ? fmt::format("{}: {} asked, all fit when nothing else is asked", item.name, item.count)
                          : fmt::format("{}: {} asked, {} fit when nothing else is asked", item.name, item.count, fit));
    }
    return lines;
  }

  static int how_many(std::span<const Gpu> gpus, DemandItem item) {
    int low = 0;  // fits
    int high = std::min<int>(item.count, kMaxGpuInstances * static_cast<int>(gpus.size())) + 1;
    while (high - low > 1) {
      item.count = (low + high) / 2;
      (can_pack(gpus, {&item, 1}) ? low : high) = item.count;
    }
    return low;
  }

  std::vector<std::string> in_the_way() const {
    std::vector<std::string> lines;
    for (const auto& gpu : gpus_) {
      std::vector<std::string> names;
      for (const auto& instance : gpu.instances)
        if (instance.pinned() && gpu.board)
          names.push_back(fmt::format(
              "{} ({})", layout::name_at(*gpu.board, instance.profile, instance.placement.start), holders(instance)));
      if (!names.empty()) lines.push_back(fmt::format("{}: in the way {}", gpu_name(gpu), join(names, ", ")));
    }
    return lines;
  }

  // Movable ones first, then small ones.
  std::vector<Obstacle> obstacles() const {
    std::vector<Obstacle> found;
    for (const auto& bin : problem_.bins) {
      const auto g = static_cast<std::size_t>(bin.index);
      for (std::size_t i = 0; i < gpus_[g].instances.size(); ++i) {
        const auto& live = gpus_[g].instances[i];
        if (!live.pinned()) continue;
        const int size = live.placement.size * 1000 / std::max(bin.geometry->units(), 1);
        found.push_back({g, i, size, to_pinned(live).movable});
      }
    }
    std::ranges::stable_sort(found, {}, [](const Obstacle& o) { return std::pair(!o.movable, o.size); });
    return found;
  }

  // The node without these instances.
  std::vector<Gpu> without(std::span<const Obstacle> gone) const {
    std::vector<Gpu> gpus(gpus_.begin(), gpus_.end());
    std::vector<Obstacle> last_first(gone.begin(), gone.end());
    std::ranges::sort(last_first, std::greater{}, &Obstacle::instance);
    for (const auto& o : last_first)
      gpus[o.gpu].instances.erase(gpus[o.gpu].instances.begin() + static_cast<std::ptrdiff_t>(o.instance));
    return gpus;
  }

  // Would it fit if this one could go anywhere on the GPUs of its board?
  bool moving_helps(const Obstacle& o) const {
    const auto& live = gpus_[o.gpu].instances[o.instance];
    std::vector<DemandItem> demand(demand_.begin(), demand_.end());
    DemandItem moved{"", 1, {}};
    for (const auto& gpu : gpus_) {
      auto& there = moved.on_gpu.emplace_back();
      if (!gpu.board || !same_for_planning(*gpu.board, *gpus_[o.gpu].board)) continue;
      there.emplace();
      there->profile = live.profile;
      for (const auto& compute : live.compute) there->compute.push_back(compute.profile);
    }
    demand.push_back(std::move(moved));
    return can_pack(without({&o, 1}), demand);
  }

  std::string name(const Obstacle& o) const {
    const auto& live = gpus_[o.gpu].instances[o.instance];
    return fmt::format("{} of {} ({})", layout::name_at(*gpus_[o.gpu].board, live.profile, live.placement.start),
                       gpu_name(gpus_[o.gpu]), holders(live));
  }

  // What disturbs nobody comes first.
  std::optional<std::string> cheapest_help() const {
    const auto all = obstacles();
    for (const auto& o : all)
      if (o.movable && moving_helps(o)) return fmt::format("moving {} elsewhere makes it fit", name(o));
    if (auto switching = switching_on()) return switching;
    for (const auto& o : all)
      if (!o.movable && moving_helps(o))
        return fmt::format("moving {} elsewhere makes it fit, once its holder has stopped using it", name(o));
    for (const auto& o : all)
      if (can_pack(without({&o, 1}), demand_)) return fmt::format("releasing {} makes it fit", name(o));
    if (all.size() * all.size() / 2 <= kMaxPairs)
      for (std::size_t j = 1; j < all.size(); ++j)
        for (std::size_t i = 0; i < j; ++i)
          if (can_pack(without(std::array{all[i], all[j]}), demand_))
            return fmt::format("releasing {} and {} makes it fit", name(all[i]), name(all[j]));
    return releasing_several(all);
  }

  // The fewest GPUs on which nothing runs whose MIG mode must be turned on, the last ones first left out.
  std::optional<std::string> switching_on() const {
    std::vector<Gpu> gpus(gpus_.begin(), gpus_.end());
    std::vector<std::size_t> switched;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      if (!is_off(gpus[g]) || !gpus[g].processes.empty()) continue;
      gpus[g].mode = layout::MigMode{true, true};
      switched.push_back(g);
    }
    if (switched.empty() || !can_pack(gpus, demand_)) return std::nullopt;
    std::vector<int> needed;
    for (std::size_t i = switched.size(); i-- > 0;) {
      const auto g = switched[i];
      gpus[g].mode = gpus_[g].mode;
      if (can_pack(gpus, demand_)) continue;
      gpus[g].mode = layout::MigMode{true, true};
      needed.insert(needed.begin(), gpus[g].index);
    }
    return fmt::format("turning on MIG mode of {} makes it fit", layout::gpu_names(needed));
  }

  // All gone it fits; the largest and least movable ones come back while it still does.
  std::optional<std::string> releasing_several(std::vector<Obstacle> gone) const {
    for (std::size_t i = gone.size(); i-- > 0;) {
      auto fewer = gone;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (can_pack(without(fewer), demand_)) gone = std::move(fewer);
    }
    std::vector<std::string> names;
    for (const auto& o : gone) names.push_back(name(o));
    if (names.empty() || !can_pack(without(gone), demand_)) return std::nullopt;
    return fmt::format("releasing {} makes it fit", join(names, ", "));
  }

  std::span<const Gpu> gpus_;
  std::span<const DemandItem> demand_;
  const PackProblem& problem_;
};

}  // namespace

Error explain_no_pack(std::span<const Gpu> gpus, std::span<const DemandItem> demand, const PackProblem& problem) {
  return Explainer(gpus, demand, problem).explain();
}

}  // namespace partita::plan
