// plan --fleet --explain: what binds, and what a little more or less would change.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/draw/draw_fleet.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

using fleet::Explanation;
using fleet::Goal;
using fleet::Margin;

std::string number(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.1f}", value);
}

std::string in_words(const std::vector<fleet::Level>& levels, std::size_t most) {
  std::vector<std::string> parts;
  for (const auto& level : levels)
    if (parts.size() < most)
      parts.push_back(fmt::format("{} {}{}", level.name, number(level.value), level.proven() ? "" : " at most"));
  return join(parts, ", ");
}

std::string in_words(const fleet::Otherwise& otherwise) { return otherwise ? in_words(*otherwise, 2) : "no plan"; }

const fleet::Want& want_of(const FleetAnswer& answer, const Margin& margin) {
  return answer.demand.wants[static_cast<std::size_t>(margin.want)];
}

std::string draw_bindings(const FleetAnswer& answer, const Explanation& explanation) {
  std::string out;
  const bool priced = std::ranges::any_of(answer.fleet.fleet.kinds, [](const auto& kind) { return kind.price != 1; });
  for (const auto& each : explanation.bindings) {
    if (!each.binds) continue;
    out += "bound by " + each.resource;
    if (!each.resource.starts_with("how "))
      out += priced ? fmt::format(", which alone costs {}", number(each.least_cost))
                    : fmt::format(": alone they ask for {:.2f} GPUs", each.least_cost);
    out += '\n';
  }
  return out;
}

// The least that must go for a plan that is a GPU cheaper, and what a GPU more gives most of; as shares of a want.
std::string draw_neighbours(const FleetAnswer& answer, const Explanation& explanation) {
  const auto& margins = explanation.margins;
  const auto share = [&](const Margin& margin, double value) { return value / want_of(answer, margin).amount; };
  const auto kept = [&](const Margin& margin) { return share(margin, margin.cheaper.value_or(-1)); };
  const auto cheaper = std::ranges::max_element(margins, {}, kept);
  const auto roomier =
      std::ranges::max_element(margins, {}, [&](const auto& each) { return share(each, each.roomier); });
  const double cost = answer.plan.levels.front().value;
  const auto instead = [&](const Margin& margin, double value) {
    const auto& want = want_of(answer, margin);
    return fmt::format("{} {} instead of {}, all else kept\n", printable(want.name), number(value),
                       number(want.amount));
  };
  std::string out = fmt::format("next cheaper plan, cost {}: ", number(cost - explanation.gpu_price));
  const auto left = cheaper->cheaper;
  out += left ? instead(*cheaper, *left) : "only with less of several lines, or none\n";
  out += fmt::format("next roomier plan, cost {}: ", number(cost + explanation.gpu_price));
  return out +
         (share(*roomier, roomier->roomier) <= 1 ? "there is no room for more\n" : instead(*roomier, roomier->roomier));
}

std::string draw_room(const Look& look, const FleetAnswer& answer, const Explanation& explanation) {
  Table table({{"if only this changed"},
               {"one GPU less", true},
               {"as planned", true},
               {"one GPU more", true},
               {"cost of one more", true},
               {"left out"}});
  for (const auto& margin : explanation.margins)
    table.add({{printable(want_of(answer, margin).name)},
               {margin.cheaper ? number(*margin.cheaper) : "none"},
               {number(margin.here)},
               {number(margin.roomier)},
               {fmt::format("{:.3g}", margin.price)},
               {answer.demand.wants.size() == 1 ? "nothing is wanted" : in_words(margin.without)}});
  return "how much would fit:\n" + table.draw(look);
}

std::string draw_left_out(const Look& look, const FleetAnswer& answer, const Explanation& explanation) {
  Table table({{"left out"}, {"then"}});
  for (const auto& margin : explanation.margins)
    table.add({{printable(want_of(answer, margin).name)},
               {answer.demand.wants.size() == 1 ? "nothing is wanted" : in_words(margin.without)}});
  return table.draw(look);
}

std::string draw_gpus(const Look& look, const FleetAnswer& answer, const Explanation& explanation) {
  if (explanation.gpus.empty()) return "";
  Table table({{"one GPU"}, {"less"}, {"more"}});
  const auto open = [&](const std::string& board) {
    return std::ranges::any_of(answer.fleet.fleet.kinds,
                               [&](const auto& kind) { return kind.board->id == board && !kind.count; });
  };
  for (const auto& each : explanation.gpus)
    table.add({{each.board}, {in_words(each.less)}, {open(each.board) ? "open: no change" : in_words(each.more)}});
  return table.draw(look);
}

std::string draw_lease_margins(const Look& look, const fleet::LeasePlan& plan,
                               const std::vector<fleet::LeaseMargin>& margins) {
  Table table({{"lease left out"}, {"runs at the peak"}, {"cost of the others", true}});
  for (const auto& margin : margins)
    table.add({{printable(plan.leases[static_cast<std::size_t>(margin.lease)].name)},
               {margin.at_peak ? "yes" : "no"},
               {number(margin.cost_without)}});
  return fmt::format("\nleases are bound by their peak at {:g} s: cost {}\n", plan.calendar.peak_s,
                     number(plan.calendar.cost)) +
         table.draw(look);
}

std::string draw_batch_margin(const fleet::BatchPlan& plan, const fleet::BatchMargin& margin) {
  const auto value = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.1f} s", *seconds) : "not all jobs run";
  };
  const auto goal = plan.batch.goal;
  return fmt::format("\njobs end with {}, which alone would end at {:.1f} s\n",
                     printable(plan.batch.jobs[static_cast<std::size_t>(margin.last)].name), margin.alone_s) +
         fmt::format("{} with one {} less: {}; as planned: {}; one more: {}\n",
                     goal == fleet::JobGoal::makespan ? "makespan" : "mean completion", margin.board,
                     value(margin.less), value(plan.schedule.value(goal)), value(margin.more));
}

}  // namespace

std::string draw_explanation(const Look& look, const FleetAnswer& answer) {
  if (!answer.explanation || answer.explanation->margins.empty()) return "";
  const auto& explanation = *answer.explanation;
  const auto gpus = draw_gpus(look, answer, explanation);
  if (answer.demand.goal != Goal::cost) return draw_left_out(look, answer, explanation) + gpus;
  return draw_bindings(answer, explanation) + draw_neighbours(answer, explanation) +
         draw_room(look, answer, explanation) + gpus;
}

std::string draw_timed_explanation(const Look& look, const FleetAnswer& answer) {
  std::string out;
  if (answer.leases && !answer.lease_margins.empty())
    out += draw_lease_margins(look, *answer.leases, answer.lease_margins);
  if (answer.batch && answer.batch_margin) out += draw_batch_margin(*answer.batch, *answer.batch_margin);
  return out;
}

}  // namespace partita::cli
