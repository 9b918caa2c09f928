#include "fleet/exact/bindings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "fleet/exact/patterns.h"
#include "fleet/solver/integer_program.h"

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

const catalog::Profile& profile_of(const Kind& kind, int profile) { return kind.board->profiles[at(profile)]; }

std::vector<plan::Placed> pinned_on(const Kind& kind) {
  std::vector<plan::Placed> out;
  for (const auto& occupant : kind.state)
    if (occupant.pinned) out.push_back(occupant.placed);
  return out;
}

// A resource of GPUs: how much an instance takes (0: nothing, it is not counted), and how much a GPU has beside what is
// pinned.
struct Resource {
  std::string name;
  std::function<double(const Kind&, int profile)> takes;
  std::function<double(const Kind&)> has;
};

Resource slices(std::string name, int catalog::Profile::* of_profile, int catalog::Board::* of_board) {
  const auto takes = [=](const Kind& kind, int p) { return static_cast<double>(profile_of(kind, p).*of_profile); };
  const auto has = [=](const Kind& kind) {
    double left = (*kind.board).*of_board;
    for (const auto& placed : pinned_on(kind)) left -= takes(kind, placed.profile);
    return std::max(0.0, left);
  };
  return {std::move(name), takes, has};
}

Resource places(const std::string& profile) {
  const auto takes = [=](const Kind& kind, int p) { return profile_of(kind, p).name == profile ? 1.0 : 0.0; };
  const auto has = [=](const Kind& kind) {
    int most = 0;
    for (std::size_t p = 0; p < kind.board->profiles.size(); ++p) {
      if (kind.board->profiles[p].name != profile) continue;
      const auto pinned = pinned_on(kind);
      if (pinned.empty()) return static_cast<double>(kind.board->profiles[p].max_instances);
      const plan::Geometry geometry(*kind.board);
      Refills refills(geometry, {static_cast<int>(p)});
      for (const auto& counts : refills.maximal(pinned)) most = std::max<int>(most, counts[0]);
    }
    return static_cast<double>(most);
  };
  return {"places for " + profile, takes, has};
}

// The least cost when nothing but this resource is short. What is pinned makes its GPU cost in any case.
double least_cost(const Fleet& fleet, const Demand& demand, const Resource& resource) {
  IntegerProgram program;
  std::vector<IntegerProgram::Row> room;
  for (const auto& kind : fleet.kinds) {
    const double most = kind.count ? static_cast<double>(*kind.count) : kUnbounded;
    const double least = pinned_on(kind).empty() || !kind.count ? 0 : most;
    const int gpus = program.add_column({kind.price, least, most, false});
    room.push_back({0, kUnbounded, {{gpus, resource.has(kind)}}});
  }
  for (const auto& want : demand.wants) {
    IntegerProgram::Row row{want.amount, kUnbounded, {}};
    for (const auto& server : want.servers) {
      const int instances = program.add_column({0, 0, kUnbounded, false});
      row.terms.push_back({instances, server.weight});
      const double takes = resource.takes(fleet.kinds[at(server.kind)], server.profile);
      if (takes > 0) room[at(server.kind)].terms.push_back({instances, -takes});
    }
    program.add_row(std::move(row));
  }
  for (auto& row : room) program.add_row(std::move(row));
  const auto solved = relax(program);
  return solved ? solved->objective : 0;
}

}  // namespace

std::vector<Binding> bindings_of(const Fleet& fleet, const Demand& demand, double cost, double grain) {
  double pinned = 0;  // what GPUs cost that are in use in any case
  for (const auto& kind : fleet.kinds)
    if (!pinned_on(kind).empty()) pinned += kind.price * static_cast<double>(kind.count.value_or(0));
  if (pinned >= cost - 1e-6) return {{"what is pinned", pinned, true}};
  std::vector<Resource> resources{
      slices("memory slices", &catalog::Profile::memory_slices, &catalog::Board::memory_slices),
      slices("compute slices", &catalog::Profile::compute_slices, &catalog::Board::compute_slices)};
  std::set<std::string> names;
  for (const auto& want : demand.wants)
    for (const auto& server : want.servers) names.insert(profile_of(fleet.kinds[at(server.kind)], server.profile).name);
  for (const auto& name : names) resources.push_back(places(name));
  std::vector<Binding> out;
  for (const auto& resource : resources) {
    const double least = least_cost(fleet, demand, resource);
    const double reached = grain > 0 ? std::ceil((least / grain) - 1e-6) * grain : least;
    out.push_back({resource.name, least, reached >= cost - 1e-6});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Binding::least_cost);
  if (!out.front().binds) out.insert(out.begin(), {"how the pieces fit together", cost, true});
  return out;
}

}  // namespace partita::fleet
