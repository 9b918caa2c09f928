#include "fleet/online/online_run.h"

#include <algorithm>
#include <deque>
#include <queue>

#include "fleet/online/migrate.h"

namespace partita::fleet {

namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

class Run {
 public:
  Run(const GpuStates& states, const Scores& scores, const std::vector<Request>& trace, const RunOptions& options,
      const Watch& watch)
      : states_(states),
        trace_(trace),
        options_(options),
        watch_(watch),
        fleet_(states, scores, options.gpus),
        units_(static_cast<std::size_t>(states.geometry().units())),
        holder_(units_ * options.gpus, kNobody),
        ends_(trace.size()),
        spots_(trace.size()),
        lines_(states.profiles().size()),
        share_(states.profiles().size()) {
    out_.profiles.resize(states.profiles().size());
    for (const auto& request : trace) share_[request.profile] += 1.0 / static_cast<double>(trace.size());
    if (options.samples > 0 && !trace.empty()) {
      next_sample_ = options.from;
      step_ = std::max(0.0, trace.back().arrival - options.from) / static_cast<double>(options.samples);
    }
  }

  RunResult run() {
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const auto& request = trace_[i];
      end_until(request.arrival);
      sample_until(request.arrival);
      ++out_.decisions;
      if (counts(i)) ++out_.profiles[request.profile].asked;
      if (serve(i, request.arrival)) continue;
      if (options_.patience > 0) lines_[request.profile].push_back(i);
    }
    while (!departures_.empty() && waiting() > 0) end_next();
    return std::move(out_);
  }

 private:
  struct Departure {
    double time = 0;
    std::uint32_t request = 0;
    bool operator>(const Departure& other) const { return time > other.time; }
  };

  bool counts(std::size_t i) const { return trace_[i].arrival >= options_.from; }
  std::uint32_t& holder(const Spot& spot) {
    return holder_[(spot.gpu * units_) + static_cast<std::size_t>(spot.start)];
  }

  void end_until(double time) {
    while (!departures_.empty() && departures_.top().time <= time) end_next();
  }

  // All that ends at the next moment ends before those that wait are served: none is passed for the order of ends.
  void end_next() {
    const double time = departures_.top().time;
    bool room = false;
    while (!departures_.empty() && departures_.top().time <= time) room = end_first() || room;
    if (room) serve_waiting(time);
  }

  // A job that was moved ends later than its entry says.
  bool end_first() {
    const auto [time, request] = departures_.top();
    departures_.pop();
    if (ends_[request] > time) {
      departures_.push({ends_[request], request});
      return false;
    }
    sample_until(time);
    holder(spots_[request]) = kNobody;
    fleet_.take(spots_[request]);
    tell({RunEvent::Is::ended, time, request, spots_[request], {}});
    return true;
  }

  // In the order of arrival, all that fit now, if need be with a move.
  void serve_waiting(double now) {
    if (options_.patience <= 0) return;
    give_up(now);
    while (serve_oldest(now)) {
    }
  }

  // Of one profile the first in line is the oldest.
  bool serve_oldest(double now) {
    std::vector<std::size_t> oldest;
    for (const auto& line : lines_)
      if (!line.empty()) oldest.push_back(line.front());
    std::ranges::sort(oldest);
    const auto served = std::ranges::find_if(oldest, [&](std::size_t i) { return serve(i, now); });
    if (served == oldest.end()) return false;
    lines_[trace_[*served].profile].pop_front();
    return true;
  }

  void give_up(double now) {
    for (auto& line : lines_)
      while (!line.empty() && trace_[line.front()].arrival + options_.patience < now) line.pop_front();
  }

  std::size_t waiting() const {
    std::size_t sum = 0;
    for (const auto& line : lines_) sum += line.size();
    return sum;
  }

  bool serve(std::size_t i, double now) {
    const auto& request = trace_[i];
    auto spot = fleet_.place(request.profile);
    bool moved = false;
    if (!spot && options_.migration) {
      if (const auto room = make_room(fleet_, request.profile, movable())) {
        carry_out(fleet_, request.profile, *room);
        note(room->move, now, options_.migration->pause);
        spot = room->request;
        moved = true;
      }
    }
    if (!spot) return false;
    admit(i, *spot, now);
    if (!moved && options_.migration && options_.migration->least_gain) {
      if (const auto move = improve(fleet_, movable(), *options_.migration->least_gain)) {
        carry_out(fleet_, *move);
        note(*move, now, options_.migration->pause);
      }
    }
    return true;
  }

  void admit(std::size_t i, const Spot& spot, double now) {
    const auto& request = trace_[i];
    const auto id = static_cast<std::uint32_t>(i);
    spots_[i] = spot;
    holder(spot) = id;
    ends_[i] = now + request.duration;
    departures_.push({ends_[i], id});
    tell({RunEvent::Is::placed, now, i, spot, {}});
    if (!counts(i)) return;
    auto& served = out_.profiles[request.profile];
    ++served.accepted;
    if (now <= request.arrival) return;
    ++served.waited;
    served.waiting += now - request.arrival;
    out_.waits.push_back(now - request.arrival);
  }

  Movable movable() {
    return [this](const Spot& spot) { return trace_[holder(spot)].movable; };
  }

  void note(const Move& move, double now, double pause) {
    const auto id = holder(move.from);
    holder(move.from) = kNobody;
    holder(move.to) = id;
    spots_[id] = move.to;
    ends_[id] += pause;
    if (counts(id)) ++out_.moves;
    tell({RunEvent::Is::moved, now, id, move.to, move.from});
  }

  void tell(const RunEvent& event) const {
    if (watch_) watch_(event);
  }

  void sample_until(double time) {
    while (out_.samples.size() < options_.samples && next_sample_ <= time) {
      give_up(next_sample_);
      out_.samples.push_back(sample());
      next_sample_ += step_;
    }
  }

  Sample sample() {
    Sample out;
    out.time = next_sample_;
    out.waiting = static_cast<int>(waiting());
    std::vector<double> room(share_.size());
    double used = 0;
    for (const auto state : fleet_.present()) {
      used += static_cast<double>(states_.memory_used(state)) * fleet_.count(state);
      for (std::size_t p = 0; p < room.size(); ++p)
        room[p] += static_cast<double>(states_.room(state, p)) * states_.memory_of(p) * fleet_.count(state);
    }
    const double all = static_cast<double>(states_.board().memory_slices) * fleet_.gpus();
    out.used = used / all;
    if (all > used)
      for (std::size_t p = 0; p < room.size(); ++p) out.fragmentation += share_[p] * (1 - (room[p] / (all - used)));
    return out;
  }

  const GpuStates& states_;
  const std::vector<Request>& trace_;
  const RunOptions& options_;
  const Watch& watch_;
  OnlineFleet fleet_;
  std::size_t units_;
  std::vector<std::uint32_t> holder_;  // [gpu][start]: request
  std::vector<double> ends_;
  std::vector<Spot> spots_;
  std::vector<std::deque<std::size_t>> lines_;  // who waits, per profile
  std::vector<double> share_;                   // of each profile in the trace
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  double next_sample_ = 0, step_ = 0;
  RunResult out_;
};

}  // namespace

RunResult run(const GpuStates& states, const Scores& scores, const std::vector<Request>& trace,
              const RunOptions& options, const Watch& watch) {
  return Run(states, scores, trace, options, watch).run();
}

}  // namespace partita::fleet
