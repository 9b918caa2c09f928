#include "fleet/exact/patterns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace partita::fleet {

// Everything that decides what may still be created: free units, and the counts that the board's rules look at.
struct Refills::Standing {
  plan::SliceMask occupied = 0;
  int total = 0, me = 0, me_all = 0, media = 0;
  Counts counts{};  // of profiles_
};

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Refills::Refills(const plan::Geometry& geometry, std::vector<int> profiles)
    : geometry_(geometry), profiles_(std::move(profiles)) {
  for (const int p : profiles_) {
    const auto& profile = geometry_.profiles()[at(p)];
    capped_.push_back(profile.max_instances < static_cast<int>(profile.placements.size()));
  }
}

Refills::Key Refills::key(const Standing& standing) const {
  Counts capped{};
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (capped_[i]) capped[i] = standing.counts[i];
  const int rules = standing.total + (standing.me * 16) + (standing.me_all * 256) + (standing.media * 4096);
  return {standing.occupied, rules, capped};
}

bool Refills::allows(const Standing& standing, std::size_t i) const {
  const auto& profile = geometry_.profiles()[at(profiles_[i])];
  const int me = standing.me + (profile.me ? 1 : 0);
  const int me_all = standing.me_all + (profile.me_all ? 1 : 0);
  const int media = standing.media + (profile.no_me ? 0 : 1);
  return standing.total < plan::kMaxGpuInstances && standing.counts[i] < profile.max_instances && me <= 1 &&
         (me_all == 0 || media == 1);
}

// Every set of places once: by profile, then by start.
std::vector<Counts> Refills::enumerate(const Standing& standing) const {
  std::vector<Counts> reached;
  Counts created{};
  const auto descend = [&](auto&& self, const Standing& now, std::size_t from, std::size_t from_place) -> void {
    reached.push_back(created);
    for (std::size_t i = from; i < profiles_.size(); ++i) {
      if (!allows(now, i)) continue;
      const auto& profile = geometry_.profiles()[at(profiles_[i])];
      for (std::size_t j = i == from ? from_place : 0; j < profile.placements.size(); ++j) {
        if ((profile.placements[j].mask & now.occupied) != 0) continue;
        Standing next = now;
        next.occupied |= profile.placements[j].mask;
        ++next.total;
        ++next.counts[i];
        next.me += profile.me ? 1 : 0;
        next.me_all += profile.me_all ? 1 : 0;
        next.media += profile.no_me ? 0 : 1;
        ++created[i];
        self(self, next, i, j + 1);
        --created[i];
      }
    }
  };
  descend(descend, standing, 0, 0);
  std::ranges::sort(reached);
  reached.erase(std::ranges::unique(reached).begin(), reached.end());
  std::vector<Counts> out;
  for (auto counts : reached) {
    bool maximal = true;
    for (std::size_t i = 0; i < profiles_.size() && maximal; ++i) {
      ++counts[i];
      maximal = !std::ranges::binary_search(reached, counts);
      --counts[i];
    }
    if (maximal) out.push_back(counts);
  }
  return out;
}

const std::vector<Counts>& Refills::maximal(std::span<const plan::Placed> standing) {
  Standing now;
  for (const auto& placed : standing) {
    const auto& profile = geometry_.profiles()[at(placed.profile)];
    now.occupied |= geometry_.units_of(placed.profile, placed.start);
    ++now.total;
    now.me += profile.me ? 1 : 0;
    now.me_all += profile.me_all ? 1 : 0;
    now.media += profile.no_me ? 0 : 1;
    if (const auto found = std::ranges::find(profiles_, placed.profile); found != profiles_.end())
      ++now.counts[static_cast<std::size_t>(found - profiles_.begin())];
  }
  const auto [list, fresh] = lists_.try_emplace(key(now));
  if (fresh) list->second = enumerate(now);
  return list->second;
}

Classes classes_of(const Fleet& fleet, const Demand& demand) {
  std::map<std::pair<int, int>, std::vector<Classes::Use>> uses;  // by kind, profile
  for (std::size_t w = 0; w < demand.wants.size(); ++w)
    for (const auto& server : demand.wants[w].servers)
      uses[{server.kind, server.profile}].push_back({static_cast<int>(w), server.weight});
  Classes out;
  for (const auto& kind : fleet.kinds) out.of.emplace_back(kind.board->profiles.size(), -1);
  std::map<std::pair<std::vector<Classes::Use>, int>, int> known;
  for (const auto& [place, list] : uses) {
    const auto [kind, profile] = place;
    const int slices = fleet.kinds[at(kind)].board->profiles[at(profile)].compute_slices;
    const auto [found, fresh] = known.try_emplace({list, slices}, static_cast<int>(out.classes.size()));
    if (fresh) out.classes.push_back({list, slices});
    out.of[at(kind)][at(profile)] = found->second;
  }
  return out;
}

std::vector<int> Classes::of_kind(std::size_t kind) const {
  std::vector<int> out;
  for (const int c : of[kind])
    if (c >= 0) out.push_back(c);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

namespace {

class OptionMaker {
 public:
  OptionMaker(const Kind& kind, std::span<const int> place_of, Refills& refills, Goal goal)
      : kind_(kind), place_of_(place_of), refills_(refills), goal_(goal) {
    for (std::size_t i = 0; i < kind.state.size(); ++i)
      (kind.state[i].pinned ? pinned_ : idle_) |= std::uint32_t{1} << i;
  }

  std::vector<Option> make() {
    for (std::uint32_t bits = idle_;; bits = (bits - 1) & idle_) {  // every subset
      destroy(bits);
      if (bits == 0) break;
    }
    add(leave_alone());
    if (costs() && idle_ != 0) add(unused());
    join_equal();
    drop_beaten();
    return std::move(options_);
  }

 private:
  static bool bit(std::uint32_t bits, std::size_t i) { return ((bits >> i) & 1U) != 0; }

  // A GPU that held nothing but idle instances costs when they serve or others come.
  bool costs() const { return goal_ == Goal::cost && pinned_ == 0; }

  Option leave_alone() const {
    Option out = bare(0);
    out.used = costs() && !kind_.state.empty();
    return out;
  }

  Option unused() const {
    Option out = bare(0);
    out.supply = {};
    return out;
  }

  // Without anything created.
  Option bare(std::uint32_t destroyed) const {
    Option out;
    out.destroyed_bits = destroyed;
    out.destroyed = std::popcount(destroyed);
    for (std::size_t i = 0; i < kind_.state.size(); ++i) {
      const int c = place_of_[at(kind_.state[i].placed.profile)];
      if (c >= 0 && bit(idle_, i)) ++(bit(destroyed, i) ? out.lost : out.supply)[at(c)];
    }
    return out;
  }

  void destroy(std::uint32_t bits) {
    std::vector<plan::Placed> standing;
    for (std::size_t i = 0; i < kind_.state.size(); ++i)
      if (!bit(bits, i)) standing.push_back(kind_.state[i].placed);
    const Option base = bare(bits);
    for (const auto& counts : refills_.maximal(standing)) {
      Option option = base;
      option.created = counts;
      bool any = false;
      for (std::size_t i = 0; i < refills_.profiles().size(); ++i) {
        option.supply[at(place_of_[at(refills_.profiles()[i])])] += counts[i];
        any = any || counts[i] > 0;
      }
      if (!any) continue;
      option.touched = goal_ == Goal::touched;
      option.used = costs();
      add(option);
    }
  }

  void add(const Option& option) {
    options_.push_back(option);
    if (goal_ != Goal::disturbance) options_.back().lost = {};
  }

  // Of those that differ only in what is destroyed, the one that destroys least.
  void join_equal() {
    const auto key = [](const Option& o) { return std::tie(o.used, o.touched, o.supply, o.lost); };
    std::ranges::sort(options_, [&](const Option& a, const Option& b) {
      return std::tuple_cat(key(a), std::tie(a.destroyed)) < std::tuple_cat(key(b), std::tie(b.destroyed));
    });
    const auto rest = std::ranges::unique(options_, [&](const Option& a, const Option& b) { return key(a) == key(b); });
    options_.erase(rest.begin(), rest.end());
  }

  bool beats(const Option& a, const Option& b) const {
    if (a.destroyed > b.destroyed || (a.touched && !b.touched) || (a.used && !b.used)) return false;
    for (std::size_t c = 0; c < refills_.profiles().size(); ++c)  // at least as many as there are classes
      if (a.supply[c] < b.supply[c] || a.lost[c] > b.lost[c]) return false;
    return true;
  }

  void drop_beaten() {
    std::vector<Option> out;
    for (const auto& option : options_)
      if (std::ranges::none_of(options_,
                               [&](const Option& other) { return &other != &option && beats(other, option); }))
        out.push_back(option);
    options_ = std::move(out);
  }

  const Kind& kind_;
  std::span<const int> place_of_;
  Refills& refills_;
  Goal goal_;
  std::uint32_t idle_ = 0, pinned_ = 0;
  std::vector<Option> options_;
};

}  // namespace

std::vector<Option> options_of(const Kind& kind, std::span<const int> place_of_profile, Refills& refills, Goal goal) {
  return OptionMaker(kind, place_of_profile, refills, goal).make();
}

}  // namespace partita::fleet
