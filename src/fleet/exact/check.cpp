#include "fleet/exact/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fleet/exact/patterns.h"

namespace partita::fleet {

namespace {

std::unexpected<Error> wrong(std::string message) { return fail(ErrorCode::invalid, std::move(message)); }

Result<void> check_kind(const Kind& kind, const plan::Geometry& geometry) {
  const auto name = "fleet: " + kind.name;
  if (kind.count && (*kind.count < 0 || *kind.count > kMostGpus))
    return wrong(fmt::format("{}: expected from 0 to {} GPUs, found {}", name, kMostGpus, *kind.count));
  if (!std::isfinite(kind.price) || kind.price <= 0)
    return wrong(fmt::format("{}: expected a price above 0, found {}", name, kind.price));
  if (!kind.count && !kind.state.empty())
    return wrong(name + ": GPUs without a count are empty ones: give their number, or leave out what they hold");
  std::vector<plan::Placed> placed;
  for (const auto& occupant : kind.state) placed.push_back(occupant.placed);
  if (!valid(geometry, placed)) return wrong(name + ": these instances do not go together on one " + kind.board->id);
  return {};
}

Result<void> check_want(const Fleet& fleet, const Want& want) {
  const auto name = "demand: " + want.name;
  if (!std::isfinite(want.amount) || want.amount <= 0)
    return wrong(fmt::format("{}: expected an amount above 0, found {}", name, want.amount));
  if (want.servers.empty()) return wrong(name + ": no profile of the fleet can serve it");
  std::set<std::pair<int, int>> seen;
  for (const auto& server : want.servers) {
    if (server.kind < 0 || static_cast<std::size_t>(server.kind) >= fleet.kinds.size())
      return wrong(fmt::format("{}: the fleet has no kind {}", name, server.kind));
    const auto& board = *fleet.kinds[static_cast<std::size_t>(server.kind)].board;
    if (server.profile < 0 || static_cast<std::size_t>(server.profile) >= board.profiles.size())
      return wrong(fmt::format("{}: {} has no profile {}", name, board.id, server.profile));
    if (!std::isfinite(server.weight) || server.weight <= 0 ||
        want.amount / server.weight > static_cast<double>(kMostInstances))
      return wrong(fmt::format("{}: expected at most {} instances, found {:.6g} with {:.6g} each", name, kMostInstances,
                               want.amount, server.weight));
    if (!seen.insert({server.kind, server.profile}).second) return wrong(name + ": a profile is named twice");
  }
  return {};
}

}  // namespace

Result<void> check(const Fleet& fleet, const Demand& demand) {
  if (fleet.kinds.empty()) return wrong("fleet: expected at least one kind of GPU, found none");
  if (demand.wants.empty()) return wrong("demand: expected at least one line, found none");
  if (demand.wants.size() > kMostWants)
    return wrong(fmt::format("demand: expected at most {} lines, found {}", kMostWants, demand.wants.size()));
  std::map<const catalog::Board*, plan::Geometry> geometries;
  for (const auto& kind : fleet.kinds) {
    if (!kind.board || !kind.board->has_mig())
      return wrong("fleet: " + kind.name + ": the board cannot be cut: choose one with MIG");
    const auto geometry = geometries.try_emplace(kind.board.get(), *kind.board).first;
    TRY_VOID(check_kind(kind, geometry->second));
  }
  for (const auto& want : demand.wants) TRY_VOID(check_want(fleet, want));
  const auto classes = classes_of(fleet, demand);
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
    if (std::ranges::count_if(classes.of[k], [](int c) { return c >= 0; }) > static_cast<std::ptrdiff_t>(kMostKinds))
      return wrong(fmt::format("demand: expected at most {} profiles of one board, found more", kMostKinds));
  return {};
}

}  // namespace partita::fleet
