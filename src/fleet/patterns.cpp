#include "fleet/patterns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace partita::fleet {

// Everything that decides what may still be created: free units, and the counts that the board's rules look at.
struct Refills::Standing {
  plan::SliceMask occupied = 0;
  int total = 0, me = 0, me_all = 0, media = 0;
  Counts counts;  // of profiles_
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
  Key out{static_cast<int>(standing.occupied), standing.total, standing.me, standing.me_all, standing.media};
  for (std::size_t i = 0; i < profiles_.size(); ++i) out.push_back(capped_[i] ? standing.counts[i] : 0);
  return out;
}

bool Refills::allows(const Standing& standing, std::size_t i) const {
  const auto& profile = geometry_.profiles()[at(profiles_[i])];
  const int me = standing.me + (profile.me ? 1 : 0);
  const int me_all = standing.me_all + (profile.me_all ? 1 : 0);
  const int media = standing.media + (profile.no_me ? 0 : 1);
  return standing.total < plan::kMaxGpuInstances && standing.counts[i] < profile.max_instances && me <= 1 &&
         (me_all == 0 || media == 1);
}

std::vector<Counts> Refills::enumerate(const Standing& standing) const {
  std::set<std::pair<Counts, plan::SliceMask>> seen;
  std::set<Counts> reached;
  Counts created(profiles_.size());
  const auto descend = [&](auto&& self, const Standing& now) -> void {
    if (!seen.emplace(created, now.occupied).second) return;
    reached.insert(created);
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      if (!allows(now, i)) continue;
      const auto& profile = geometry_.profiles()[at(profiles_[i])];
      for (const auto& place : profile.placements) {
        if ((place.mask & now.occupied) != 0) continue;
        Standing next = now;
        next.occupied |= place.mask;
        ++next.total;
        ++next.counts[i];
        next.me += profile.me ? 1 : 0;
        next.me_all += profile.me_all ? 1 : 0;
        next.media += profile.no_me ? 0 : 1;
        ++created[i];
        self(self, next);
        --created[i];
      }
    }
  };
  descend(descend, standing);
  std::vector<Counts> out;
  for (auto counts : reached) {
    bool maximal = true;
    for (std::size_t i = 0; i < counts.size() && maximal; ++i) {
      ++counts[i];
      maximal = !reached.contains(counts);
      --counts[i];
    }
    if (maximal) out.push_back(std::move(counts));
  }
  return out;
}

const std::vector<Counts>& Refills::maximal(std::span<const plan::Placed> standing) {
  Standing now;
  now.counts.resize(profiles_.size());
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

namespace {

class OptionMaker {
 public:
  OptionMaker(const Kind& kind, std::span<const int> class_of, std::size_t classes, Refills& refills, Goal goal)
      : kind_(kind), class_of_(class_of), classes_(classes), refills_(refills), goal_(goal) {
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
    std::vector<Option> out;
    out.reserve(best_.size());
    for (auto& [_, option] : best_) out.push_back(std::move(option));
    drop_beaten(out);
    return out;
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
    std::ranges::fill(out.supply, std::uint8_t{0});
    return out;
  }

  // Without anything created.
  Option bare(std::uint32_t destroyed) const {
    Option out;
    out.destroyed_bits = destroyed;
    out.created.resize(refills_.profiles().size());
    out.supply.resize(classes_);
    out.lost.resize(classes_);
    out.destroyed = std::popcount(destroyed);
    for (std::size_t i = 0; i < kind_.state.size(); ++i) {
      const int c = class_of_[at(kind_.state[i].placed.profile)];
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
      for (std::size_t i = 0; i < counts.size(); ++i) {
        option.supply[at(class_of_[at(refills_.profiles()[i])])] += counts[i];
        any = any || counts[i] > 0;
      }
      if (!any) continue;
      option.touched = goal_ == Goal::touched;
      option.used = costs();
      add(std::move(option));
    }
  }

  void add(Option option) {
    Key key{option.supply, goal_ == Goal::disturbance ? option.lost : Counts{}, option.used, option.touched};
    const auto [found, fresh] = best_.try_emplace(std::move(key), option);
    if (!fresh && option.destroyed < found->second.destroyed) found->second = std::move(option);
  }

  bool beats(const Option& a, const Option& b) const {
    if (a.destroyed > b.destroyed || (a.touched && !b.touched) || (a.used && !b.used)) return false;
    for (std::size_t c = 0; c < classes_; ++c)
      if (a.supply[c] < b.supply[c] || (goal_ == Goal::disturbance && a.lost[c] > b.lost[c])) return false;
    return true;
  }

  void drop_beaten(std::vector<Option>& options) const {
    std::ranges::stable_sort(options, {}, [](const Option& option) {
      return std::tuple(option.used, option.touched, option.destroyed);
    });
    std::vector<Option> out;
    for (std::size_t i = 0; i < options.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < options.size() && !beaten; ++j)
        beaten = j != i && beats(options[j], options[i]) && (!beats(options[i], options[j]) || j < i);
      if (!beaten) out.push_back(options[i]);
    }
    options = std::move(out);
  }

  using Key = std::tuple<Counts, Counts, bool, bool>;
  const Kind& kind_;
  std::span<const int> class_of_;
  std::size_t classes_;
  Refills& refills_;
  Goal goal_;
  std::uint32_t idle_ = 0, pinned_ = 0;
  std::map<Key, Option> best_;
};

}  // namespace

std::vector<Option> options_of(const Kind& kind, std::span<const int> class_of_profile, std::size_t classes,
                               Refills& refills, Goal goal) {
  return OptionMaker(kind, class_of_profile, classes, refills, goal).make();
}

}  // namespace partita::fleet
