// One request after the other gets the earliest room beside what is live and what is kept for those before it. A
// request that has room kept from an earlier call looks for earlier room beside what is kept for all others, so that
// nobody's time moves back; a newcomer looks past what is kept for those behind it.
#include "lease/queue.h"

#include <algorithm>

#include "lease/timeline.h"

namespace partita::lease {

namespace {

class Planner {
 public:
  Planner(Timeline& timeline, const layout::NodeState& state, std::span<const Waiting> waiting, Time now,
          std::size_t reserving)
      : timeline_(timeline), state_(state), waiting_(waiting), now_(now), reserving_(reserving) {
    for (std::size_t i = 0; i < waiting.size() && i < reserving; ++i)
      if (const auto* kept = kept_for(waiting[i]))
        timeline.keep(waiting[i].id, waiting[i], std::max(kept->at, now), kept->places);
  }

  std::vector<Turn> run() {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < waiting_.size(); ++i) turns.push_back(turn(i));
    return turns;
  }

 private:
  static const Reservation* kept_for(const Waiting& request) {
    const auto& kept = request.reserved;
    const auto count = static_cast<std::size_t>(std::max(request.count, 0));
    return kept && kept->places.size() == count ? &*kept : nullptr;
  }

  Turn turn(std::size_t i) {
    const Waiting& request = waiting_[i];
    Turn turn;
    turn.id = request.id;
    const bool reserves = i < reserving_;
    const Reservation* had_room = reserves ? kept_for(request) : nullptr;
    if (reserves) timeline_.drop(request.id);
    if (request.requirement.same_gpu_as && !request.same_gpu) return turn;  // that lease has no GPU now
    auto shapes = shapes_of(state_, request.requirement, request.same_gpu);
    if (!shapes || request.count < 1) return turn;
    keep_within(*shapes, state_, request.most);

    std::vector<Timeline::Owner> ignored;  // kept for those behind a newcomer
    for (std::size_t j = i + 1; !had_room && j < waiting_.size() && j < reserving_; ++j)
      ignored.push_back(waiting_[j].id);

    auto room = timeline_.room(request, *shapes, now_, ignored);
    if (room.empty() && had_room && had_room->at <= now_)
      room = timeline_.room(request, *shapes, now_, ignored, &had_room->places);
    if (!room.empty()) {
      turn.at = now_;
      turn.now = timeline_.start(request, *shapes, places_of(room));
      return turn;
    }
    if (!reserves) return turn;
    turn.kept = earliest(request, *shapes, ignored, had_room);
    if (!turn.kept) return turn;
    timeline_.keep(request.id, request, turn.kept->at, turn.kept->places);
    if (turn.kept->at < kFar) turn.at = turn.kept->at;
    return turn;
  }

  std::optional<Reservation> earliest(const Waiting& request, const Shapes& shapes,
                                      const std::vector<Timeline::Owner>& ignored, const Reservation* had_room) {
    const auto try_at = [&](Time at) { return timeline_.room(request, shapes, at, ignored); };
    const Time before = had_room ? std::max(had_room->at, now_) : Time::max();
    auto times = timeline_.ends(kFar);
    std::erase_if(times, [&](Time at) { return at >= before; });
    if (!timeline_.anything_later()) {
      const auto first = std::ranges::partition_point(times, [&](Time at) { return try_at(at).empty(); });
      times.erase(times.begin(), first);
    }
    for (const Time at : times)
      if (const auto choices = try_at(at); !choices.empty()) return reservation(at, choices);
    if (!had_room) return std::nullopt;
    if (auto choices = timeline_.room(request, shapes, before, ignored, &had_room->places); !choices.empty())
      return reservation(before, choices);
    // The room was taken by a renewal or a newcomer before it: anew, from scratch.
    for (const Time at : timeline_.ends(kFar))
      if (at >= before)
        if (const auto choices = try_at(at); !choices.empty()) return reservation(at, choices);
    return std::nullopt;
  }

  static Reservation reservation(Time at, const std::vector<Choice>& choices) { return {at, places_of(choices)}; }

  Timeline& timeline_;
  const layout::NodeState& state_;
  std::span<const Waiting> waiting_;
  Time now_;
  std::size_t reserving_;
};

}  // namespace

std::vector<Turn> plan_queue(const layout::NodeState& state, std::span<const Held> held,
                             std::span<const Waiting> waiting, Time now, Geometries& geometries,
                             const QueueLimits& limits) {
  geometries.trim();
  Timeline timeline(state, held, now, geometries);
  return Planner(timeline, state, waiting, now, static_cast<std::size_t>(std::max(limits.reserving, 1))).run();
}

}  // namespace partita::lease
