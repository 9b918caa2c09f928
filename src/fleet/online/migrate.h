// Bounded migration: one movable instance is created elsewhere so that a request finds room, or so that the fleet is in
// better shape for what comes next.
#pragma once

#include <functional>
#include <optional>

#include "fleet/online/online.h"

namespace partita::fleet {

struct Move {
  std::size_t profile = 0;  // position in states.profiles()
  Spot from, to;            // to: open once `from` is taken and the request, if any, is placed
  double gain = 0;          // by Scores::value, the request included
};

// May the instance at this spot be moved?
using Movable = std::function<bool(const Spot&)>;

// For a request that finds no room: the move with the largest gain after which it fits, and where it goes then.
struct MadeRoom {
  Move move;
  Spot request;
};
std::optional<MadeRoom> make_room(const OnlineFleet& fleet, std::size_t profile, const Movable& movable);

// The move with the largest gain, if that is above `least`.
std::optional<Move> improve(const OnlineFleet& fleet, const Movable& movable, double least);

// Does it.
void carry_out(OnlineFleet& fleet, const Move& move);
void carry_out(OnlineFleet& fleet, std::size_t profile, const MadeRoom& room);

}  // namespace partita::fleet
