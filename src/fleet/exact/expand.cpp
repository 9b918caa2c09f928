#include "fleet/exact/expand.h"

#include <algorithm>
#include <deque>
#include <map>

#include "plan/fit.h"
#include "plan/geometry.h"

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool bit(std::uint32_t bits, std::size_t i) { return ((bits >> i) & 1U) != 0; }

// Wants in line for the instances of a class.
using Line = std::deque<std::pair<int, std::int64_t>>;  // want, how many

// The instances of one GPU that may serve, each with the line it draws from.
struct Slot {
  int type = 0;  // class
  bool created = false;
  plan::Placed placed;  // start: of kept ones only
  int want = -1;
};

class Expansion {
 public:
  Expansion(const Fleet& fleet, const Classes& classes, const std::vector<Chosen>& chosen,
            const std::vector<std::vector<std::int64_t>>& served)
      : fleet_(fleet), classes_(classes), chosen_(chosen) {
    make_lines(served);
  }

  Result<std::vector<Group>> run() {
    for (const auto& each : chosen_)
      if (each.count > 0) TRY_VOID(spread(each));
    return std::move(groups_);
  }

 private:
  const Kind& kind_of(const Chosen& chosen) const { return fleet_.kinds[at(chosen.kind)]; }

  // A GPU that stays unused, though idle instances are there: they serve nobody.
  static bool idles(const Chosen& chosen) { return chosen.option->destroyed == 0 && chosen.option->supply == Counts{}; }

  std::vector<Slot> slots_of(const Chosen& chosen) const {
    std::vector<Slot> out;
    const auto& kind = kind_of(chosen);
    const auto& types = classes_.of[at(chosen.kind)];
    for (std::size_t i = 0; i < kind.state.size(); ++i) {
      const auto& occupant = kind.state[i];
      const int type = types[at(occupant.placed.profile)];
      if (type >= 0 && !occupant.pinned && !bit(chosen.option->destroyed_bits, i) && !idles(chosen))
        out.push_back({type, false, occupant.placed, -1});
    }
    std::size_t i = 0;
    for (std::size_t p = 0; p < types.size(); ++p) {
      if (types[p] < 0) continue;
      for (int n = chosen.option->created[i]; n > 0; --n) out.push_back({types[p], true, {static_cast<int>(p), 0}, -1});
      ++i;
    }
    return out;
  }

  void make_lines(const std::vector<std::vector<std::int64_t>>& served) {
    std::vector<std::int64_t> kept(classes_.classes.size());
    for (const auto& each : chosen_)
      for (const auto& slot : slots_of(each))
        if (!slot.created) kept[at(slot.type)] += each.count;
    for (std::size_t c = 0; c < classes_.classes.size(); ++c) {
      Line first, second;
      std::int64_t left = kept[c];
      for (std::size_t w = 0; w < served[c].size(); ++w) {
        const auto from_kept = std::min(left, served[c][w]);
        left -= from_kept;
        if (from_kept > 0) first.emplace_back(static_cast<int>(w), from_kept);
        if (served[c][w] > from_kept) second.emplace_back(static_cast<int>(w), served[c][w] - from_kept);
      }
      kept_lines_.push_back(std::move(first));
      created_lines_.push_back(std::move(second));
    }
  }

  Line& line(const Slot& slot) { return (slot.created ? created_lines_ : kept_lines_)[at(slot.type)]; }

  Result<void> spread(const Chosen& chosen) {
    const auto slots = slots_of(chosen);
    for (std::int64_t left = chosen.count; left > 0;) {
      auto now = slots;
      const auto n = std::min(left, assign(now));
      for (const auto& slot : now)
        if (slot.want >= 0) take(slot, n);
      TRY_VOID(write(chosen, now, n));
      left -= n;
    }
    return {};
  }

  // Gives each slot its want; how many GPUs in a row can look so.
  std::int64_t assign(std::vector<Slot>& slots) {
    std::map<std::pair<const Line*, std::size_t>, std::int64_t> drawn;
    for (auto& slot : slots) {
      const auto& waiting = line(slot);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        auto& n = drawn[{&waiting, i}];
        if (n >= waiting[i].second) continue;
        ++n;
        slot.want = waiting[i].first;
        break;
      }
    }
    std::int64_t repeats = kMostGpus;
    for (const auto& [place, n] : drawn)
      if (n > 0) repeats = std::min(repeats, (*place.first)[place.second].second / n);
    return repeats;
  }

  void take(const Slot& slot, std::int64_t n) {
    auto& waiting = line(slot);
    for (auto entry = waiting.begin(); entry != waiting.end(); ++entry) {
      if (entry->first != slot.want) continue;
      entry->second -= n;
      if (entry->second == 0) waiting.erase(entry);
      return;
    }
  }

  Result<void> write(const Chosen& chosen, const std::vector<Slot>& slots, std::int64_t count) {
    const auto& kind = kind_of(chosen);
    const bool creates = std::ranges::any_of(slots, [](const Slot& s) { return s.created && s.want >= 0; });
    Group group{chosen.kind, count, {}, {}};
    std::vector<plan::Placed> standing;
    for (std::size_t i = 0; i < kind.state.size(); ++i) {
      const auto& occupant = kind.state[i];
      if (creates && bit(chosen.option->destroyed_bits, i)) {
        group.destroyed.push_back(occupant.placed);
        continue;
      }
      const auto slot =
          std::ranges::find_if(slots, [&](const Slot& s) { return !s.created && s.placed == occupant.placed; });
      standing.push_back(occupant.placed);
      group.instances.push_back({occupant.placed, occupant.pinned ? Instance::Is::pinned : Instance::Is::kept,
                                 slot == slots.end() ? -1 : slot->want});
    }
    if (creates) TRY_VOID(place(chosen, slots, standing, group));
    const bool new_to_fleet = !kind.count && !used(group);
    if (new_to_fleet) return {};
    std::ranges::sort(group.instances, {}, [](const Instance& instance) { return instance.placed.start; });
    join(std::move(group));
    return {};
  }

  Result<void> place(const Chosen& chosen, const std::vector<Slot>& slots, const std::vector<plan::Placed>& standing,
                     Group& group) {
    const auto& board = *kind_of(chosen).board;
    auto& geometry = geometries_[&board];
    if (!geometry) geometry = std::make_unique<plan::Geometry>(board);
    std::vector<int> counts(board.profiles.size());
    std::multimap<int, int> wants;  // profile, want
    for (const auto& slot : slots) {
      if (!slot.created || slot.want < 0) continue;
      ++counts[at(slot.placed.profile)];
      wants.emplace(slot.placed.profile, slot.want);
    }
    const auto placed = plan::fit(*geometry, standing, counts);
    if (!placed) return fail(ErrorCode::internal, "a pattern of " + board.id + " has no placing");
    for (const auto& each : *placed) {
      const auto want = wants.find(each.profile);
      group.instances.push_back({each, Instance::Is::created, want->second});
      wants.erase(want);
    }
    return {};
  }

  void join(Group group) {
    if (!groups_.empty()) {
      auto& last = groups_.back();
      if (last.kind == group.kind && last.instances == group.instances && last.destroyed == group.destroyed) {
        last.count += group.count;
        return;
      }
    }
    groups_.push_back(std::move(group));
  }

  const Fleet& fleet_;
  const Classes& classes_;
  const std::vector<Chosen>& chosen_;
  std::vector<Line> kept_lines_, created_lines_;
  std::vector<Group> groups_;
  std::map<const catalog::Board*, std::unique_ptr<plan::Geometry>> geometries_;
};

}  // namespace

Result<std::vector<Group>> expand(const Fleet& fleet, const Classes& classes, const std::vector<Chosen>& chosen,
                                  const std::vector<std::vector<std::int64_t>>& served) {
  return Expansion(fleet, classes, chosen, served).run();
}

}  // namespace partita::fleet
