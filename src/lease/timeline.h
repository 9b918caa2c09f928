// The node as it will be: who has which place from when to when. Inside lease/ only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lease/queue.h"
#include "lease/shapes.h"

namespace partita::lease {

std::vector<Reserved> places_of(std::span<const Choice> choices);

// Leases without expiry are taken to end here; what is planned without a duration never ends.
inline constexpr Time kFar = Time(Time::max().time_since_epoch() / 2);

class Timeline {
 public:
  // `held` from now on; what is pinned without a lease stays for ever.
  Timeline(const layout::NodeState& state, std::span<const Held> held, Time now, Geometries& geometries);

  using Owner = std::int64_t;  // of a slot: a waiting request; 0: a live lease

  // Room for all places of a request from `from` for its duration, ignoring what `ignored` owners keep. With
  // `exactly`, only there.
  std::vector<Choice> room(const Waiting& request, const Shapes& shapes, Time from, const std::vector<Owner>& ignored,
                           const std::vector<Reserved>* exactly = nullptr);

  void keep(Owner owner, const Waiting& request, Time from, std::span<const Reserved> places);
  void drop(Owner owner);
  // It begins now, at places for which there is room: from now on a live lease, and what it destroys and creates is
  // seen by those after it. The choices stand on the node as it is, without what is kept for later.
  std::vector<Choice> start(const Waiting& request, const Shapes& shapes, std::span<const Reserved> places);

  // Times after now, and up to `last`, at which something ends; ascending.
  std::vector<Time> ends(Time last) const;
  // Is anything kept that begins later? If not, what has room at one time has it at each later one.
  bool anything_later() const;

 private:
  struct Slot {
    Owner owner = 0;
    std::size_t gpu = 0;
    std::optional<int> start;
    int profile = 0;
    bool alone = false;
    Time from, to;
  };
  void view(Time from, Time to, const std::vector<Owner>& ignored, bool live_only = false);
  void occupy(layout::Gpu& gpu, Slot slot);
  std::optional<Choice> choose_in_view(const Waiting& request, const Shapes& shapes, const Reserved* exactly);
  std::size_t gpu_at(const std::string& uuid) const;

  Time now_;
  Geometries& geometries_;
  layout::NodeState base_;  // pins only of what stays for ever
  layout::NodeState view_;  // base_ with the slots of an interval
  Constraints constraints_;
  std::vector<Slot> slots_;
};

}  // namespace partita::lease
