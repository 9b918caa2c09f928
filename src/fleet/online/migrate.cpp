#include "fleet/online/migrate.h"

#include <algorithm>

namespace partita::fleet {

namespace {

// Where an instance goes, as states.
struct Target {
  double gain = 0;
  StateId state = 0;
  int start = -1;  // -1: nowhere
};

class Search {
 public:
  Search(const OnlineFleet& fleet, const Movable& movable)
      : fleet_(fleet), states_(fleet.states()), scores_(fleet.scores()), movable_(movable) {
    elsewhere_.resize(states_.profiles().size());
    for (std::size_t p = 0; p < elsewhere_.size(); ++p) elsewhere_[p] = best_two(p);
  }

  std::optional<MadeRoom> make_room(std::size_t profile) {
    std::optional<MadeRoom> best;
    for (const auto state : fleet_.present()) {
      for (const auto& victim : states_.placed(state)) {
        const auto rest = states_.without(state, victim.start);
        for (const auto& open : states_.places(rest, profile)) {
          const auto q = states_.position(victim.profile);
          const auto& target = away(q, state);
          const double here = value(open.then) - value(state);
          if (target.start >= 0) consider(best, {state, victim.start, q}, here + target.gain, target, open.start);
          for (const auto& back : states_.places(open.then, q))
            consider(best, {state, victim.start, q}, value(back.then) - value(state), {0, kSame, back.start},
                     open.start);
        }
      }
    }
    return best;
  }

  std::optional<Move> improve(double least) {
    std::optional<MadeRoom> best;
    for (const auto state : fleet_.present()) {
      for (const auto& victim : states_.placed(state)) {
        const auto rest = states_.without(state, victim.start);
        const auto q = states_.position(victim.profile);
        const auto& target = away(q, state);
        const double here = value(rest) - value(state);
        if (target.start >= 0 && here + target.gain > least)
          consider(best, {state, victim.start, q}, here + target.gain, target, -1);
        for (const auto& back : states_.places(rest, q))
          if (const double gain = value(back.then) - value(state); gain > least)
            consider(best, {state, victim.start, q}, gain, {0, kSame, back.start}, -1);
      }
    }
    if (!best) return std::nullopt;
    return best->move;
  }

 private:
  static constexpr StateId kSame = ~StateId{0};  // the same GPU

  struct Victim {
    StateId state = 0;
    int start = 0;
    std::size_t profile = 0;
  };

  double value(StateId state) const { return scores_.value(state); }

  // The best state for a profile among those present, and the best of the others.
  std::pair<Target, Target> best_two(std::size_t profile) const {
    std::pair<Target, Target> out;
    for (const auto state : fleet_.present()) {
      Target mine;
      for (const auto& open : states_.places(state, profile))
        if (const double gain = value(open.then) - value(state); mine.start < 0 || gain > mine.gain)
          mine = {gain, state, open.start};
      if (mine.start < 0) continue;
      if (out.first.start < 0 || mine.gain > out.first.gain) {
        out.second = out.first;
        out.first = mine;
      } else if (out.second.start < 0 || mine.gain > out.second.gain) {
        out.second = mine;
      }
    }
    return out;
  }

  // On another GPU than one in `state`.
  const Target& away(std::size_t profile, StateId state) const {
    const auto& [first, second] = elsewhere_[profile];
    return first.start >= 0 && first.state == state && fleet_.count(state) < 2 ? second : first;
  }

  void consider(std::optional<MadeRoom>& best, const Victim& victim, double gain, const Target& target,
                int request) const {
    constexpr double kEqual = 1e-9;
    if (best && gain <= best->move.gain + kEqual) return;
    for (const auto gpu : fleet_.gpus_in(victim.state)) {
      const Spot from{gpu, victim.start};
      if (!movable_(from)) continue;
      std::uint32_t to = gpu;
      if (target.state != kSame) {
        to = fleet_.lowest(target.state);
        if (to == gpu) to = fleet_.gpus_in(target.state)[1];  // away() counted at least two
      }
      best = MadeRoom{{victim.profile, from, {to, target.start}, gain}, {gpu, request}};
      return;
    }
  }

  const OnlineFleet& fleet_;
  const GpuStates& states_;
  const Scores& scores_;
  const Movable& movable_;
  std::vector<std::pair<Target, Target>> elsewhere_;  // per profile
};

}  // namespace

std::optional<MadeRoom> make_room(const OnlineFleet& fleet, std::size_t profile, const Movable& movable) {
  return Search(fleet, movable).make_room(profile);
}

std::optional<Move> improve(const OnlineFleet& fleet, const Movable& movable, double least) {
  return Search(fleet, movable).improve(least);
}

void carry_out(OnlineFleet& fleet, const Move& move) {
  fleet.take(move.from);
  fleet.put(move.profile, move.to);
}

void carry_out(OnlineFleet& fleet, std::size_t profile, const MadeRoom& room) {
  fleet.take(room.move.from);
  fleet.put(profile, room.request);
  fleet.put(room.move.profile, room.move.to);
}

}  // namespace partita::fleet
