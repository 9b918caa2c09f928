// Rule 4: an infeasible request names what is short, who is in the way, and the cheapest change that would help.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "layout/layout.h"
#include "plan/fit.h"
#include "plan/fit_search.h"
#include "plan/tally.h"

namespace partita::plan {

namespace {

constexpr int kMaxMovable = 12;  // 2^12 sets of moves are looked at; a GPU holds at most 8 instances

class Explainer {
 public:
  Explainer(const catalog::Board& board, const Geometry& geometry, std::span<const Pinned> pinned,
            std::span<const int> counts)
      : board_(board), geometry_(geometry), pinned_(pinned), counts_(counts) {}

  Error explain() const {
    if (!fits(geometry_, {}, counts_)) return impossible();
    auto details = obstacles();
    const auto help = cheapest_help();
    auto message = fmt::format("{} {} not fit now: {}", asked(), total_asked() == 1 ? "does" : "do", shortage());
    if (help) message += "; " + *help;
    return Error{ErrorCode::no_space, std::move(message), std::move(details)};
  }

 private:
  const catalog::Profile& profile(std::size_t p) const { return board_.profiles[p]; }
  int total_asked() const {
    int n = 0;
    for (const int count : counts_) n += std::max(count, 0);
    return n;
  }

  // "3g.40gb", "2 x 1g.10gb and 3g.40gb".
  std::string asked() const {
    std::vector<std::string> parts;
    for (std::size_t p = 0; p < counts_.size(); ++p) {
      if (counts_[p] <= 0) continue;
      const auto name = p < board_.profiles.size() ? profile(p).name : fmt::format("profile number {}", p);
      parts.push_back(counts_[p] == 1 ? name : fmt::format("{} x {}", counts_[p], name));
    }
    return join(parts, ", ");
  }

  std::string name(const Placed& placed) const { return layout::name_at(board_, placed.profile, placed.start); }
  std::string name(const Pinned& pinned) const { return fmt::format("{} ({})", name(pinned.placed), pinned.holder); }

  // A run of units: "4-7", "5".
  std::string slices(const Placed& placed) const {
    const int size = geometry_.profiles()[static_cast<std::size_t>(placed.profile)].size;
    return size == 1 ? std::to_string(placed.start) : fmt::format("{}-{}", placed.start, placed.start + size - 1);
  }

  // The rule of counts that `counts` breaks beside the pinned ones, if any.
  std::optional<std::string> broken_rule(std::span<const Pinned> beside) const {
    Tally tally(geometry_);
    for (const auto& pinned : beside) tally.add(pinned.placed.profile);
    for (std::size_t p = 0; p < counts_.size(); ++p) tally.add(static_cast<int>(p), std::clamp(counts_[p], 0, 100));
    if (tally.allowed()) return std::nullopt;
    for (std::size_t p = 0; p < board_.profiles.size(); ++p) {
      const int max = geometry_.profiles()[p].max_instances;
      if (p < counts_.size() && counts_[p] > 0 && tally.count(static_cast<int>(p)) > max)
        return fmt::format("a GPU of this board holds at most {} {}, {} would be there{}", max, profile(p).name,
                           tally.count(static_cast<int>(p)), those(beside, [&](const Pinned& pinned) {
                             return pinned.placed.profile == static_cast<int>(p);
                           }));
    }
    if (tally.total() > kMaxGpuInstances)
      return fmt::format("a GPU holds at most {} GPU instances, {} would be there", kMaxGpuInstances, tally.total());
    const auto media = [&](auto member) {
      return those(beside, [&, member](const Pinned& pinned) {
        return geometry_.profiles()[static_cast<std::size_t>(pinned.placed.profile)].*member;
      });
    };
    if (all_media_asked(beside))
      return "an instance with +me.all owns every media engine: only -me instances can stand beside it" +
             (media(&GeometryProfile::me_all).empty()
                  ? those(beside,
                          [&](const Pinned& pinned) {
                            return !geometry_.profiles()[static_cast<std::size_t>(pinned.placed.profile)].no_me;
                          })
                  : media(&GeometryProfile::me_all));
    return "the media extensions engine is single: at most one +me instance on a GPU" + media(&GeometryProfile::me);
  }

  bool all_media_asked(std::span<const Pinned> beside) const {
    for (const auto& pinned : beside)
      if (geometry_.profiles()[static_cast<std::size_t>(pinned.placed.profile)].me_all) return true;
    for (std::size_t p = 0; p < geometry_.profiles().size() && p < counts_.size(); ++p)
      if (counts_[p] > 0 && geometry_.profiles()[p].me_all) return true;
    return false;
  }

  template <class Predicate>
  std::string those(std::span<const Pinned> beside, Predicate predicate) const {
    std::vector<std::string> names;
    for (const auto& pinned : beside)
      if (predicate(pinned)) names.push_back(name(pinned));
    return names.empty() ? "" : "; there " + std::string(names.size() == 1 ? "is " : "are ") + join(names, ", ");
  }

  struct Slices {
    int compute = 0, memory = 0, units = 0;
  };
  Slices asked_slices() const {
    Slices sum;
    for (std::size_t p = 0; p < counts_.size() && p < board_.profiles.size(); ++p) {
      const int n = std::max(counts_[p], 0);
      sum.compute += n * profile(p).compute_slices;
      sum.memory += n * profile(p).memory_slices;
      sum.units += n * profile(p).placement_size;
    }
    return sum;
  }
  Slices taken_slices() const {
    Slices sum;
    for (const auto& pinned : pinned_) {
      const auto& facts = profile(static_cast<std::size_t>(pinned.placed.profile));
      sum.compute += facts.compute_slices;
      sum.memory += facts.memory_slices;
      sum.units += facts.placement_size;
    }
    return sum;
  }

  Error impossible() const {
    const auto say = [&](const std::string& why) {
      return Error{ErrorCode::impossible,
                   fmt::format("{} cannot be on one {}, not even on an empty one: {}", asked(), board_.id, why),
                   starts()};
    };
    if (counts_.size() > board_.profiles.size()) return say("the board has no such profile");
    const auto sum = asked_slices();
    if (sum.memory > board_.memory_slices)
      return say(fmt::format("{} memory slices asked, it has {}", sum.memory, board_.memory_slices));
    if (sum.compute > board_.compute_slices)
      return say(fmt::format("{} compute slices asked, it has {}", sum.compute, board_.compute_slices));
    if (const auto rule = broken_rule({})) return say(*rule);
    return say("there are slices enough, but the places where these profiles may start overlap");
  }

  std::vector<std::string> starts() const {
    std::vector<std::string> lines;
    for (std::size_t p = 0; p < counts_.size() && p < board_.profiles.size(); ++p)
      if (counts_[p] > 0)
        lines.push_back(fmt::format(
            "{}: starts at {}, takes {}, at most {} on a GPU", profile(p).name, fmt::join(profile(p).placements, ", "),
            count_of(static_cast<std::size_t>(profile(p).memory_slices), "memory slice"), profile(p).max_instances));
    return lines;
  }

  std::vector<const Pinned*> blockers(const Placed& placed) const {
    std::vector<const Pinned*> found;
    const auto units = geometry_.units_of(placed.profile, placed.start);
    for (const auto& pinned : pinned_)
      if ((geometry_.units_of(pinned.placed.profile, pinned.placed.start) & units) != 0) found.push_back(&pinned);
    return found;
  }

  std::string blocker_names(const std::vector<const Pinned*>& blocking) const {
    std::vector<std::string> names;
    for (const auto* pinned : blocking) names.push_back(name(*pinned));
    return join(names, ", ");
  }

  // One line for each place where a wanted profile could be.
  std::vector<std::string> obstacles() const {
    std::vector<std::string> lines;
    for (std::size_t p = 0; p < counts_.size(); ++p) {
      if (counts_[p] <= 0) continue;
      for (const auto& place : geometry_.profiles()[p].placements) {
        const Placed at{static_cast<int>(p), place.start};
        const auto blocking = blockers(at);
        lines.push_back(blocking.empty() ? fmt::format("{} (slices {}) is free", name(at), slices(at))
                                         : fmt::format("{} (slices {}) is blocked by {}", name(at), slices(at),
                                                       blocker_names(blocking)));
      }
    }
    return lines;
  }

  // What is short, in one clause.
  std::string shortage() const {
    if (const auto rule = broken_rule(pinned_)) return *rule;
    const auto wants = asked_slices();
    const auto taken = taken_slices();
    const int free_memory = std::max(board_.memory_slices - taken.memory, 0);
    const int free_compute = std::max(board_.compute_slices - taken.compute, 0);
    std::string text;
    if (wants.memory > free_memory)
      text = fmt::format("{} asked, {} free", count_of(static_cast<std::size_t>(wants.memory), "memory slice"),
                         free_memory);
    else if (wants.compute > free_compute)
      text = fmt::format("{} asked, {} free", count_of(static_cast<std::size_t>(wants.compute), "compute slice"),
                         free_compute);
    if (total_asked() != 1) return text.empty() ? "the free slices do not lie where these profiles may start" : text;
    return text.empty() ? blocked_places() : text + "; " + blocked_places();
  }

  // For a single wanted instance: "needs slices 0-3 or 4-7; 0-3 is blocked by ...; 4-7 is blocked by ...".
  std::string blocked_places() const {
    std::vector<std::string> needs, blocked;
    for (std::size_t p = 0; p < counts_.size(); ++p) {
      if (counts_[p] <= 0) continue;
      for (const auto& place : geometry_.profiles()[p].placements) {
        const Placed at{static_cast<int>(p), place.start};
        needs.push_back(slices(at));
        blocked.push_back(fmt::format("{} is blocked by {}", slices(at), blocker_names(blockers(at))));
      }
    }
    return fmt::format("it needs slices {}; {}", join(needs, " or "), join(blocked, "; "));
  }

  // Sets of pinned instances, cheapest first: fewest that are not movable, fewest, smallest, highest starts.
  std::vector<std::uint32_t> sets_by_cost() const {
    const auto n = std::min<std::size_t>(pinned_.size(), kMaxMovable);
    std::vector<std::uint32_t> sets;
    for (std::uint32_t set = (1U << n) - 1; set > 0; --set) sets.push_back(set);
    std::ranges::stable_sort(sets, {}, [&](std::uint32_t set) {
      int unmovable = 0;
      int size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (((set >> i) & 1U) == 0) continue;
        unmovable += pinned_[i].movable ? 0 : 1;
        size += geometry_.profiles()[static_cast<std::size_t>(pinned_[i].placed.profile)].size;
      }
      return std::tuple(unmovable, std::popcount(set), size);
    });
    return sets;
  }

  std::vector<Placed> staying(std::uint32_t leaving) const {
    std::vector<Placed> places;
    for (std::size_t i = 0; i < pinned_.size(); ++i)
      if (i >= 32 || ((leaving >> i) & 1U) == 0) places.push_back(pinned_[i].placed);
    return places;
  }

  std::optional<std::string> cheapest_help() const {
    const auto sets = sets_by_cost();
    for (const auto set : sets)
      if (auto text = moving(set)) return text;
    for (const auto set : sets)
      if (fits(geometry_, staying(set), counts_)) return releasing(set);
    return std::nullopt;
  }

  std::string must_stop(std::uint32_t set) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < pinned_.size() && i < 32; ++i)
      if (((set >> i) & 1U) != 0 && !pinned_[i].movable) names.push_back(pinned_[i].holder);
    return names.empty() ? "" : fmt::format(" (first {} must stop using it)", join(names, ", "));
  }

  // "moving 1g.10gb@5 (lease alice) to @2 makes it fit at @4"; nullopt when these moves do not help.
  std::optional<std::string> moving(std::uint32_t set) const {
    std::vector<int> counts(geometry_.profiles().size());
    for (std::size_t p = 0; p < counts.size() && p < counts_.size(); ++p) counts[p] = std::max(counts_[p], 0);
    for (std::size_t i = 0; i < pinned_.size() && i < 32; ++i)
      if (((set >> i) & 1U) != 0) ++counts[static_cast<std::size_t>(pinned_[i].placed.profile)];
    auto placed = fit(geometry_, staying(set), counts);
    if (!placed) return std::nullopt;
    std::vector<std::string> moves;
    auto standing = staying(set);
    for (std::size_t i = 0; i < pinned_.size() && i < 32; ++i) {
      if (((set >> i) & 1U) == 0) continue;
      const auto to = std::ranges::find(*placed, pinned_[i].placed.profile, &Placed::profile);
      const Placed best = *to;
      placed->erase(to);
      standing.push_back(lowest_as_open(best, standing, *placed));
      moves.push_back(fmt::format("{} to @{}", name(pinned_[i]), standing.back().start));
    }
    std::vector<std::string> places;
    for (const auto& at : *placed) places.push_back(total_asked() == 1 ? fmt::format("@{}", at.start) : name(at));
    return fmt::format("moving {} makes {} fit at {}{}", join(moves, " and "), total_asked() == 1 ? "it" : "them",
                       join(places, ", "), must_stop(set));
  }

  // People count from below: the lowest start for `best` that leaves as much open.
  Placed lowest_as_open(const Placed& best, std::vector<Placed> standing, std::span<const Placed> rest) const {
    standing.insert(standing.end(), rest.begin(), rest.end());
    standing.push_back(best);
    const int open = open_placements(geometry_, standing);
    for (const auto& place : geometry_.profiles()[static_cast<std::size_t>(best.profile)].placements) {
      standing.back().start = place.start;
      if (valid(geometry_, standing) && open_placements(geometry_, standing) == open) return standing.back();
    }
    return best;
  }

  std::string releasing(std::uint32_t set) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < pinned_.size() && i < 32; ++i)
      if (((set >> i) & 1U) != 0) names.push_back(name(pinned_[i]));
    return fmt::format("no move helps; releasing {} would", join(names, " and "));
  }

  const catalog::Board& board_;
  const Geometry& geometry_;
  std::span<const Pinned> pinned_;
  std::span<const int> counts_;
};

}  // namespace

Error explain_no_fit(const catalog::Board& board, const Geometry& geometry, std::span<const Pinned> pinned,
                     std::span<const int> counts) {
  return Explainer(board, geometry, pinned, counts).explain();
}

}  // namespace partita::plan
