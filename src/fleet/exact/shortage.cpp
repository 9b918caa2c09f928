#include "fleet/exact/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "fleet/exact/program.h"
#include "fleet/solver/minimise.h"

namespace partita::fleet {

namespace {

constexpr int kNodes = 500;  // an explanation may be a little off, but not slow

// What of each want is missing when the least share of the demand is left out; empty when that cannot be told.
std::vector<double> missing(const Fleet& fleet, const Demand& demand) {
  const Program program(fleet, demand);
  IntegerProgram lacking = program.base;
  std::vector<int> columns;
  for (std::size_t w = 0; w < demand.wants.size(); ++w) {
    auto& row = lacking.rows[static_cast<std::size_t>(program.want_rows[w])];
    const bool whole = row.lower == std::floor(row.lower);
    columns.push_back(lacking.add_column({1 / std::max(1.0, row.lower), 0, row.lower, whole}));
    row.terms.push_back({columns.back(), 1});
  }
  const auto solved = minimise(lacking, {kNodes, {}}, 0);
  std::vector<double> out;
  if (solved.values.empty()) return out;
  for (std::size_t w = 0; w < demand.wants.size(); ++w) {
    const double all = lacking.rows[static_cast<std::size_t>(program.want_rows[w])].lower;
    out.push_back(demand.wants[w].amount * solved.values[static_cast<std::size_t>(columns[w])] / all);
  }
  return out;
}

bool fits_without_pins(const Fleet& fleet, const Demand& demand) {
  Fleet emptied = fleet;
  for (auto& kind : emptied.kinds) kind.state.clear();
  const Program program(emptied, demand);
  return !minimise(program.base, {kNodes, {}}, 0).values.empty();
}

// Something that is missing could be on GPUs of a kind that is as many as are needed.
bool at_ceiling(const Fleet& fleet, const Demand& demand, const std::vector<double>& lacking) {
  for (std::size_t w = 0; w < demand.wants.size(); ++w)
    if (lacking.empty() || lacking[w] > 1e-6)
      for (const auto& server : demand.wants[w].servers)
        if (!fleet.kinds[static_cast<std::size_t>(server.kind)].count) return true;
  return false;
}

std::string amount(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

}  // namespace

Error shortage(const Fleet& fleet, const Demand& demand) {
  std::int64_t gpus = 0;
  std::int64_t pinned = 0;
  for (const auto& kind : fleet.kinds) {
    gpus += kind.count.value_or(0);
    pinned += kind.count.value_or(0) * std::ranges::count(kind.state, true, &Occupant::pinned);
  }
  Error out{ErrorCode::no_space,
            "the demand does not fit on the fleet's " + count_of(static_cast<std::size_t>(gpus), "GPU"),
            {}};
  const auto lacking = missing(fleet, demand);
  const bool ceiling = at_ceiling(fleet, demand, lacking);
  if (ceiling)
    out.message = fmt::format("the demand needs more than the {} GPUs that an open fleet has at most", kMostGpus);
  for (std::size_t w = 0; w < lacking.size(); ++w)
    if (lacking[w] > 1e-6)
      out.details.push_back(fmt::format("{}: {} of {} fit", demand.wants[w].name,
                                        amount(demand.wants[w].amount - lacking[w]), amount(demand.wants[w].amount)));
  const auto gone =
      pinned == 1 ? "the pinned instance were gone" : fmt::format("the {} pinned instances were gone", pinned);
  if (ceiling)
    out.details.emplace_back("ask for less, or plan it in parts");
  else if (pinned > 0)
    out.details.push_back(fits_without_pins(fleet, demand) ? "it would fit if " + gone
                                                           : "it would not fit even if " + gone);
  else
    out.details.emplace_back("add GPUs, or give \"nodes: open\" to learn how many are needed");
  return out;
}

Result<std::optional<double>> most_within(const Fleet& fleet, const Demand& demand, std::size_t w, double budget,
                                          const WorkLimits& limits, std::optional<double> known) {
  constexpr double kNearEnough = 1e-3;  // of an amount
  const Program program(fleet, demand);
  IntegerProgram most = program.base;
  const auto cost = program.levels(Goal::cost).front();
  most.add_row({-kUnbounded, budget - cost.constant + 1e-7, cost.terms});
  // The want's amount becomes a column, in units of its row, that is made as large as possible.
  const double unit = program.row_unit(w);
  const auto row = static_cast<std::size_t>(program.want_rows[w]);
  const bool whole = std::ranges::any_of(program.services, [&](const auto& s) {
    return s.want == static_cast<int>(w) && (s.column < 0 || s.weight == 1);
  });
  const int amount = most.add_column({-1, 0, static_cast<double>(kMostInstances), whole});
  most.rows[row].lower = 0;
  most.rows[row].terms.push_back({amount, -1});
  for (const auto& service : program.services)
    if (service.want == static_cast<int>(w) && service.column >= 0)
      most.columns[static_cast<std::size_t>(service.column)].upper = static_cast<double>(kMostInstances);
  if (known) {
    const auto relaxed = relax(most);
    const double bound = relaxed ? -relaxed->objective * unit : 0;
    if ((whole ? std::floor(bound / unit + 1e-6) * unit : bound * (1 - kNearEnough)) <= *known + 1e-6) return known;
  }
  const auto solved = minimise(most, limits, whole ? 1 : 0);
  if (solved.values.empty()) return known;
  return std::optional(std::max(known.value_or(0), solved.values[static_cast<std::size_t>(amount)] * unit));
}

}  // namespace partita::fleet
