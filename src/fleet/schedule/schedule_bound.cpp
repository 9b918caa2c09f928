#include "fleet/schedule/schedule_bound.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "fleet/solver/integer_program.h"
#include "plan/geometry.h"

namespace partita::fleet {

namespace {

constexpr std::size_t kMostProgramWays = 20'000;  // beyond, the area alone

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Room {
  plan::Geometry geometry;
  plan::SliceMask pinned = 0;
  bool empty = true;
  double gpus = 0;

  explicit Room(const Kind& kind) : geometry(*kind.board), gpus(static_cast<double>(kind.count.value_or(0))) {
    for (const auto& each : kind.state) {
      if (each.pinned) pinned |= geometry.units_of(each.placed.profile, each.placed.start);
      empty = empty && each.pinned;
    }
  }
  double free_units() const { return geometry.units() - std::popcount(pinned); }
  bool fits(int p) const {
    return std::ranges::any_of(geometry.profiles()[at(p)].placements,
                               [&](const auto& place) { return (place.mask & pinned) == 0; });
  }
};

// The least share of a whole fleet that each job takes, in seconds, and its fastest way.
struct Least {
  std::vector<double> share, alone;
};

double create_s(const Batch& batch, const JobWay& way, const Room& room) {
  return room.empty ? batch.times[at(way.kind)][at(way.profile)].create_s : 0;
}

Least least_of(const Batch& batch, const std::vector<Room>& rooms) {
  double units = 0;
  for (const auto& room : rooms) units += room.gpus * room.free_units();
  Least out;
  for (const auto& job : batch.jobs) {
    double area = kUnbounded;
    double alone = kUnbounded;
    for (const auto& way : job.ways) {
      const auto& room = rooms[at(way.kind)];
      if (!room.fits(way.profile)) continue;
      area = std::min(area, way.seconds * room.geometry.profiles()[at(way.profile)].size);
      alone = std::min(alone, way.seconds + create_s(batch, way, room));
    }
    out.share.push_back(area / units);
    out.alone.push_back(alone);
  }
  return out;
}

// After each release, what is released by then or later still takes its share.
double by_release(const Batch& batch, const Least& least) {
  std::vector<std::size_t> order(batch.jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::ranges::greater{}, [&](std::size_t j) { return batch.jobs[j].release_s; });
  double out = 0;
  double share = 0;
  for (const auto j : order) {
    share += least.share[j];
    out = std::max({out, batch.jobs[j].release_s + share, batch.jobs[j].release_s + least.alone[j]});
  }
  return out;
}

class MakespanProgram {
 public:
  MakespanProgram(const Batch& batch, const std::vector<Room>& rooms) : batch_(batch), rooms_(rooms) {
    end_ = program_.add_column({1, 0, kUnbounded, false});
    for (std::size_t k = 0; k < rooms.size(); ++k) add_room(static_cast<int>(k));
    for (const auto& job : batch.jobs) add_job(job);
    for (auto& [size, terms] : held_) program_.add_row({0, kUnbounded, std::move(terms)});
  }
  double operator()() const {
    const auto solved = relax(program_);
    return solved ? solved->objective : 0;
  }

 private:
  // Seconds that each place is used, over all GPUs of the kind; each unit holds one at a time, from the first creation
  // on.
  void add_room(int k) {
    const auto& room = rooms_[at(k)];
    const double gpus = room.gpus;
    double first = kUnbounded;
    std::vector<std::vector<IntegerProgram::Term>> units(at(room.geometry.units()));
    std::vector<bool> used(room.geometry.profiles().size());
    for (const auto& job : batch_.jobs)
      for (const auto& way : job.ways)
        if (way.kind == k) used[at(way.profile)] = true;
    for (std::size_t p = 0; p < used.size(); ++p) {
      if (!used[p]) continue;
      first = std::min(first, room.empty ? batch_.times[at(k)][p].create_s : 0);
      for (const auto& place : room.geometry.profiles()[p].placements) {
        if ((place.mask & room.pinned) != 0) continue;
        const int column = program_.add_column({0, 0, kUnbounded, false});
        held_[{k, static_cast<int>(p)}].push_back({column, 1});
        for (auto m = place.mask; m != 0; m &= m - 1) units[at(std::countr_zero(m))].push_back({column, 1});
      }
    }
    for (auto& terms : units) {
      if (terms.empty()) continue;
      terms.push_back({end_, -gpus});
      program_.add_row({-kUnbounded, -gpus * first, std::move(terms)});
    }
  }

  void add_job(const Job& job) {
    IntegerProgram::Row all{1, 1, {}};
    IntegerProgram::Row own{-kUnbounded, -job.release_s, {}};
    for (const auto& way : job.ways) {
      const auto held = held_.find({way.kind, way.profile});
      if (held == held_.end()) continue;
      const int column = program_.add_column({0, 0, kUnbounded, false});
      all.terms.push_back({column, 1});
      own.terms.push_back({column, way.seconds + create_s(batch_, way, rooms_[at(way.kind)])});
      held->second.push_back({column, -way.seconds});
    }
    own.terms.push_back({end_, -1});
    program_.add_row(std::move(all));
    program_.add_row(std::move(own));
  }

  const Batch& batch_;
  const std::vector<Room>& rooms_;
  IntegerProgram program_;
  int end_ = 0;
  std::map<std::pair<int, int>, std::vector<IntegerProgram::Term>> held_;  // per kind and profile: held minus run
};

double mean_bound(const Batch& batch, const Least& least) {
  std::vector<std::size_t> order(batch.jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t j) { return least.share[j] / batch.jobs[j].priority; });
  double weights = 0;
  double squashed = 0;
  double alone = 0;
  double now = 0;
  for (const auto j : order) {
    const auto& job = batch.jobs[j];
    now += least.share[j];
    weights += job.priority;
    squashed += job.priority * now;
    alone += job.priority * (job.release_s + least.alone[j]);
  }
  return std::max(squashed, alone) / weights;
}

}  // namespace

double bound_of(const Fleet& fleet, const Batch& batch) {
  std::vector<Room> rooms;
  for (const auto& kind : fleet.kinds) rooms.emplace_back(kind);
  const auto least = least_of(batch, rooms);
  if (batch.goal == JobGoal::mean_completion) return mean_bound(batch, least);
  const double simple = by_release(batch, least);
  std::size_t ways = 0;
  for (const auto& job : batch.jobs) ways += job.ways.size();
  return ways > kMostProgramWays ? simple : std::max(simple, MakespanProgram(batch, rooms)());
}

}  // namespace partita::fleet
