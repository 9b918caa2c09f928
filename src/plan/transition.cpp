// Every set of live instances that may stay is tried (at most 2^8). For each: who of them serves which wanted instance
// (an assignment by compute instances), then the best placing of the rest. The first of
// (pinned ones hit, GPU instances destroyed, compute instances destroyed, - openness) in lexicographic order wins;
// among equals the set that keeps the higher starts.
#include "plan/transition.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

#include "plan/compute_fit.h"
#include "plan/fit_search.h"
#include "plan/target.h"

namespace partita::plan {

namespace {

constexpr int kNobody = -1;

struct Cost {
  int pinned_hit = 0, destroyed = 0, compute_destroyed = 0, closed = 0;  // closed = - openness
  auto operator<=>(const Cost&) const = default;
};

struct Choice {
  Cost cost;
  std::vector<int> serves;  // per live instance: index in wanted, or kNobody (destroyed)
  std::vector<Placed> new_places;
};

class Solver {
 public:
  Solver(const layout::Gpu& gpu, const Geometry& geometry, std::span<const layout::WantedInstance> wanted, bool pins)
      : gpu_(gpu), geometry_(geometry), wanted_(wanted), pins_(pins) {
    find_kinds();
    weigh_matches();
  }

  std::optional<Choice> solve() {
    const auto n = gpu_.instances.size();
    for (std::uint32_t keep = 1U << n; keep-- > 0;) try_keeping(keep);
    return std::move(best_);
  }

 private:
  // Wanted instances without a fixed start that are alike are one kind: any of them will do.
  struct Kind {
    int example = 0;
    std::vector<int> members;
  };
  struct Match {
    bool possible = false;
    int pinned_hit = 0;
    int compute_destroyed = 0;
  };

  void find_kinds() {
    for (int w = 0; w < static_cast<int>(wanted_.size()); ++w) {
      const auto same = std::ranges::find_if(kinds_, [&](const Kind& kind) {
        return alike(wanted_[static_cast<std::size_t>(kind.example)], wanted_[static_cast<std::size_t>(w)]);
      });
      if (same != kinds_.end()) {
        same->members.push_back(w);
      } else {
        kinds_.push_back({w, {w}});
      }
    }
  }

  void weigh_matches() {
    for (const auto& live : gpu_.instances) {
      auto& row = matches_.emplace_back(kinds_.size());
      const auto& profile = gpu_.board->profiles[static_cast<std::size_t>(live.profile)];
      const auto placed = compute_placed(live.compute);
      const auto wants_this_place = [&](const auto& w) {
        return w.profile == live.profile && w.start == live.placement.start;
      };
      const bool named = std::ranges::any_of(wanted_, wants_this_place);
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const auto& wanted = wanted_[static_cast<std::size_t>(kinds_[k].example)];
        if (wanted.profile != live.profile || ((named || wanted.start) && !wants_this_place(wanted))) continue;
        const auto change = change_compute(profile, placed, wanted);
        if (!change || (pins_ && live.pinned() && !change->none())) continue;
        row[k] = {true, live.pinned() && !change->none() ? 1 : 0, static_cast<int>(change->destroy.size())};
      }
    }
  }

  void try_keeping(std::uint32_t keep) {
    Cost cost;
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      if (((keep >> i) & 1U) != 0) continue;
      const auto& live = gpu_.instances[i];
      if (pins_ && live.pinned()) return;
      cost.pinned_hit += live.pinned() ? 1 : 0;
      cost.destroyed += 1;
      cost.compute_destroyed += static_cast<int>(live.compute.size());
    }
    if (best_ && std::tie(cost.pinned_hit, cost.destroyed) > std::tie(best_->cost.pinned_hit, best_->cost.destroyed))
      return;
    assigned_.reset();
    std::vector<int> left;
    for (const auto& kind : kinds_) left.push_back(static_cast<int>(kind.members.size()));
    std::vector<int> kind_of_live(gpu_.instances.size(), kNobody);
    assign(keep, 0, left, kind_of_live, cost);
    const auto disturbance = [](const Cost& c) { return std::tie(c.pinned_hit, c.destroyed, c.compute_destroyed); };
    if (assigned_ && (!best_ || disturbance(assigned_->cost) <= disturbance(best_->cost))) place_rest(*assigned_);
  }

  // The cheapest way to let each kept live instance from `i` on serve some kind.
  void assign(std::uint32_t keep, std::size_t i, std::vector<int>& left, std::vector<int>& kind_of_live, Cost cost) {
    if (assigned_ && cost >= assigned_->cost) return;
    if (i == gpu_.instances.size()) {
      assigned_ = Choice{cost, kind_of_live, {}};
      return;
    }
    if (((keep >> i) & 1U) == 0) return assign(keep, i + 1, left, kind_of_live, cost);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto& match = matches_[i][k];
      if (!match.possible || left[k] == 0) continue;
      Cost next = cost;
      next.pinned_hit += match.pinned_hit;
      next.compute_destroyed += match.compute_destroyed;
      --left[k];
      kind_of_live[i] = static_cast<int>(k);
      assign(keep, i + 1, left, kind_of_live, next);
      kind_of_live[i] = kNobody;
      ++left[k];
    }
  }

  void place_rest(Choice choice) {
    std::vector<Placed> standing;
    std::vector<std::size_t> used(kinds_.size());
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      const auto kind = choice.serves[i];
      if (kind == kNobody) continue;
      standing.push_back({gpu_.instances[i].profile, gpu_.instances[i].placement.start});
      choice.serves[i] = kinds_[static_cast<std::size_t>(kind)].members[used[static_cast<std::size_t>(kind)]++];
    }
    SliceMask taken = 0;
    for (const auto& kept : standing) taken |= geometry_.cells_of(kept.profile, kept.start);
    std::vector<int> counts(geometry_.profiles().size());
    std::vector<Placed> fixed;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto& wanted = wanted_[static_cast<std::size_t>(kinds_[k].example)];
      const auto rest = kinds_[k].members.size() - used[k];
      if (rest == 0) continue;
      if (!wanted.start) {
        counts[static_cast<std::size_t>(wanted.profile)] += static_cast<int>(rest);
        continue;
      }
      const auto cells = geometry_.cells_of(wanted.profile, *wanted.start);
      if (rest > 1 || (cells & taken) != 0) return;
      taken |= cells;
      fixed.push_back({wanted.profile, *wanted.start});
    }
    standing.insert(standing.end(), fixed.begin(), fixed.end());
    if (!fixed.empty() && !valid(geometry_, standing)) return;
    auto placing = best_fit(geometry_, standing, counts);
    if (!placing) return;
    choice.cost.closed = -placing->open;
    if (best_ && choice.cost >= best_->cost) return;
    choice.new_places = std::move(placing->placed);
    best_ = std::move(choice);
  }

  const layout::Gpu& gpu_;
  const Geometry& geometry_;
  std::span<const layout::WantedInstance> wanted_;
  bool pins_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<Match>> matches_;  // [live][kind]
  std::optional<Choice> assigned_;
  std::optional<Choice> best_;
};

// Collects what a choice means as steps.
class Writer {
 public:
  Writer(const layout::Gpu& gpu, std::span<const layout::WantedInstance> wanted) : gpu_(gpu), wanted_(wanted) {}

  GpuPlan write(const Choice& choice) {
    plan_.gpu = gpu_.uuid;
    std::vector<bool> served(wanted_.size());
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      const auto& live = gpu_.instances[i];
      if (choice.serves[i] == kNobody) {
        destroy(live);
      } else {
        served[static_cast<std::size_t>(choice.serves[i])] = true;
        keep(live, wanted_[static_cast<std::size_t>(choice.serves[i])]);
      }
    }
    auto places = choice.new_places;
    for (std::size_t w = 0; w < wanted_.size(); ++w)
      if (!served[w]) create(wanted_[w], places);
    std::ranges::stable_sort(creates_, {}, &Step::start);
    plan_.steps = std::move(destroys_);
    plan_.steps.insert(plan_.steps.end(), creates_.begin(), creates_.end());
    const auto by_start = [](const Placed& placed) { return placed.start; };
    std::ranges::sort(plan_.result, {}, by_start);
    std::ranges::sort(plan_.kept, {}, by_start);
    return std::move(plan_);
  }

 private:
  void step(Step::Kind kind, const Placed& at, const ComputePlaced& compute = {}) {
    const bool destroys = kind == Step::Kind::destroy_compute || kind == Step::Kind::destroy_gpu_instance;
    (destroys ? destroys_ : creates_).push_back({kind, at.profile, at.start, compute.profile, compute.start});
    switch (kind) {
      case Step::Kind::destroy_compute:
        ++plan_.compute_destroyed;
        break;
      case Step::Kind::create_compute:
        ++plan_.compute_created;
        break;
      case Step::Kind::destroy_gpu_instance:
        ++plan_.gpu_instances_destroyed;
        break;
      case Step::Kind::create_gpu_instance:
        ++plan_.gpu_instances_created;
        break;
    }
  }

  void destroy(const layout::GpuInstance& live) {
    const Placed at{live.profile, live.placement.start};
    for (const auto& compute : compute_placed(live.compute)) step(Step::Kind::destroy_compute, at, compute);
    step(Step::Kind::destroy_gpu_instance, at);
  }

  void change(const Placed& at, std::span<const ComputePlaced> live, const layout::WantedInstance& wanted) {
    const auto change = change_compute(profile(at.profile), live, wanted);
    if (!change) return;  // the target was checked
    for (const auto& compute : change->destroy) step(Step::Kind::destroy_compute, at, compute);
    for (const auto& compute : change->create) step(Step::Kind::create_compute, at, compute);
  }

  void keep(const layout::GpuInstance& live, const layout::WantedInstance& wanted) {
    const Placed at{live.profile, live.placement.start};
    const auto before = destroys_.size() + creates_.size();
    change(at, compute_placed(live.compute), wanted);
    plan_.result.push_back(at);
    if (before == destroys_.size() + creates_.size()) plan_.kept.push_back(at);
  }

  void create(const layout::WantedInstance& wanted, std::vector<Placed>& places) {
    Placed at{wanted.profile, wanted.start.value_or(0)};
    if (!wanted.start) {
      const auto place = std::ranges::find(places, wanted.profile, &Placed::profile);
      at = *place;
      places.erase(place);
    }
    step(Step::Kind::create_gpu_instance, at);
    change(at, {}, wanted);
    plan_.result.push_back(at);
  }

  const catalog::Profile& profile(int index) const { return gpu_.board->profiles[static_cast<std::size_t>(index)]; }

  const layout::Gpu& gpu_;
  std::span<const layout::WantedInstance> wanted_;
  GpuPlan plan_;
  std::vector<Step> destroys_, creates_;
};

}  // namespace

Result<GpuPlan> transition(const layout::Gpu& gpu, const Geometry& geometry,
                           std::span<const layout::WantedInstance> wanted, bool ignore_pins) {
  TRY_VOID(check_target(gpu, geometry, wanted));
  const auto choice = Solver(gpu, geometry, wanted, !ignore_pins).solve();
  if (!choice) return std::unexpected(why_not(gpu, geometry, wanted, ignore_pins));
  return Writer(gpu, wanted).write(*choice);
}

}  // namespace partita::plan
