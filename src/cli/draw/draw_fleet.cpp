// plan --fleet: kinds of GPU drawn once each, what serves the demand, the proof, and what a GPU more or less changes.
#include "cli/draw/draw_fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/draw/bar.h"
#include "cli/draw/draw.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/table.h"

namespace partita::cli {

using fleet::Goal;
using fleet::Group;
using fleet::Instance;

const fleet::Kind& kind_of(const FleetAnswer& answer, int kind) {
  return answer.fleet.fleet.kinds[static_cast<std::size_t>(kind)];
}

std::vector<Served> served(const FleetAnswer& answer, std::size_t want) {
  std::map<std::pair<int, int>, std::int64_t> count;
  for (const auto& group : answer.plan.groups)
    for (const auto& instance : group.instances)
      if (instance.want == static_cast<int>(want)) count[{group.kind, instance.placed.profile}] += group.count;
  std::vector<Served> out;
  for (const auto& server : answer.demand.wants[want].servers) {
    const auto found = count.find({server.kind, server.profile});
    if (found == count.end()) continue;
    const auto& kinds = answer.fleet.fleet.kinds;
    const auto& board = kinds[static_cast<std::size_t>(server.kind)].board;
    const auto same = std::ranges::find_if(out, [&](const Served& other) {
      return kinds[static_cast<std::size_t>(other.kind)].board == board && other.profile == server.profile;
    });
    auto& sum = same != out.end() ? *same : out.emplace_back(Served{server.kind, server.profile, 0, 0});
    sum.instances += found->second;
    sum.amount += server.weight * static_cast<double>(found->second);
  }
  return out;
}

const fleet::ServiceChoice* choice_behind(const FleetAnswer& answer, std::size_t want, const Served& by) {
  const auto counted = answer.demand.wants.size() - answer.choices.size();
  if (want < counted) return nullptr;
  return fleet::choice_of(answer.choices[want - counted], answer.fleet.fleet.kinds[static_cast<std::size_t>(by.kind)],
                          by.profile);
}

std::string parts_in_all(const FleetAnswer& answer, const GpusInAll& gpus, std::string_view steady) {
  std::vector<std::string> parts;
  const char* more = answer.steady ? " more" : "";
  if (answer.steady) parts.push_back(fmt::format("{} for {}", gpus.steady, steady));
  if (answer.leases) parts.push_back(fmt::format("{}{} for leases", gpus.leases, more));
  if (answer.batch) parts.push_back(fmt::format("{}{} for jobs", gpus.jobs, more));
  if (parts.size() < 2) return "";
  return (has_prices(answer) ? ", " + cost_word(answer, gpus.cost) : "") + ": " + join(parts, ", ");
}

std::string turn_on_words(const FleetAnswer& answer) {
  std::vector<std::string> nodes;
  for (const auto& each : answer.turn_on)
    nodes.push_back(fmt::format("{} GPU {}", answer.fleet.groups[static_cast<std::size_t>(each.group)].name,
                                fmt::join(each.gpus, ", ")));
  return nodes.empty() ? "" : "MIG mode is off and must be turned on first: " + join(nodes, "; ");
}

bool times_for_every_board(const FleetAnswer& answer) {
  return std::ranges::any_of(answer.choices, [](const auto& list) {
    return std::ranges::any_of(list, [](const fleet::ServiceChoice& choice) { return choice.board.empty(); });
  });
}

bool is_kept(const study::Confirmed& promise) { return promise.met_share() >= 0.99; }

namespace {

constexpr int kIndent = 2;

std::vector<BarCell> cells_of(const FleetAnswer& answer, const Group& group, int wide) {
  const auto& board = *kind_of(answer, group.kind).board;
  std::vector<BarCell> out;
  for (const auto& instance : group.instances) {
    const auto& profile = board.profiles[static_cast<std::size_t>(instance.placed.profile)];
    const int columns = (profile.placement_size * wide) - 1;
    const bool created = instance.is == Instance::Is::created;
    std::string who = instance.is == Instance::Is::pinned ? "pinned" : "";
    if (instance.want >= 0 && !answer.choices.empty())
      who = answer.demand.wants[static_cast<std::size_t>(instance.want)].name;
    const auto name = name_that_fits(profile.name, columns - (created ? 1 : 0));
    out.push_back({instance.placed.start,
                   profile.placement_size,
                   {(created ? "+" : "") + name, printable(who)},
                   created                               ? Tone::good
                   : instance.is == Instance::Is::pinned ? Tone::busy
                                                         : Tone::idle});
  }
  return out;
}

// Which GPUs of live nodes a group of the plan is: "rva GPU 4, 6, 7; rvb GPU 0".
std::string live_gpus(const FleetAnswer& answer, const Group& group) {
  constexpr std::size_t kMost = 4;  // nodes
  const int at = static_cast<int>(&group - answer.plan.groups.data());
  std::vector<std::string> nodes;
  for (const auto& node : answer.nodes) {
    const auto& live = answer.fleet.groups[static_cast<std::size_t>(node.group)];
    std::vector<int> gpus;
    for (std::size_t i = 0; i < live.live.size(); ++i)
      if (node.gpus[i] == at) gpus.push_back(live.live[i].index);
    if (!gpus.empty()) nodes.push_back(fmt::format("{} GPU {}", printable(live.name), fmt::join(gpus, ", ")));
  }
  if (nodes.empty()) return "";
  const auto more = nodes.size() > kMost ? nodes.size() - kMost : 0;
  nodes.resize(nodes.size() - more);
  return "  " + join(nodes, "; ") + (more > 0 ? fmt::format("; and on {}", count_of(more, "more node")) : "");
}

std::string draw_group(const Look& look, const FleetAnswer& answer, const Group& group) {
  const auto& board = *kind_of(answer, group.kind).board;
  std::string out = fmt::format("{} × {}", group.count, board.id);
  if (!look.unicode) out = fmt::format("{} x {}", group.count, board.id);
  out = paint(look, Tone::strong, out) + live_gpus(answer, group);
  if (group.instances.empty()) return out + "  empty\n";
  if (!group.destroyed.empty()) {
    std::vector<std::string> names;
    for (const auto& placed : group.destroyed) names.push_back(layout::name_at(board, placed.profile, placed.start));
    out += "  destroys " + join(names, ", ");
  }
  const int wide = unit_width(look, board.placement_units, kIndent);
  const bool pinned = std::ranges::any_of(group.instances, [](const auto& i) { return i.is == Instance::Is::pinned; });
  const std::size_t lines = answer.choices.empty() && !pinned ? 1 : 2;
  return out + '\n' + draw_bar(look, board.placement_units, cells_of(answer, group, wide), kIndent, lines);
}

// The largest groups first; the rest of a long list is counted.
std::string draw_groups(const Look& look, const FleetAnswer& answer) {
  constexpr std::size_t kMost = 24;
  std::vector<const Group*> order;
  for (const auto& group : answer.plan.groups) order.push_back(&group);
  std::ranges::stable_sort(order, [](const Group* a, const Group* b) {
    return std::tuple(fleet::touched(*b), b->count) < std::tuple(fleet::touched(*a), a->count);
  });
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, order.size()); ++i) out += draw_group(look, answer, *order[i]);
  if (order.size() > kMost) {
    std::int64_t gpus = 0;
    for (std::size_t i = kMost; i < order.size(); ++i) gpus += order[i]->count;
    out +=
        fmt::format("and {} more on {} GPUs: see them with -o json\n", count_of(order.size() - kMost, "layout"), gpus);
  }
  return out;
}

std::string draw_demand(const Look& look, const FleetAnswer& answer) {
  Table table({{"wanted"}, {"amount", true}, {"served", true}, {"by"}});
  for (std::size_t w = 0; w < answer.demand.wants.size(); ++w) {
    const auto& want = answer.demand.wants[w];
    double sum = 0;
    std::vector<std::string> by;
    const auto servers = served(answer, w);
    const auto name_of = [&](const Served& each) {
      return kind_of(answer, each.kind).board->profiles[static_cast<std::size_t>(each.profile)].name;
    };
    for (const auto& each : servers) {
      sum += each.amount;
      auto text = fmt::format("{} {}", each.instances, name_of(each));
      if (std::ranges::count(servers, name_of(each), name_of) > 1)  // boards that have the same name for it
        text += " on " + kind_of(answer, each.kind).board->id;
      if (const auto* choice = choice_behind(answer, w, each))
        text += fmt::format(" (batch {}, {})", choice->batch,
                            choice->processes == 1 ? "1 process" : fmt::format("{} processes", choice->processes));
      by.push_back(std::move(text));
    }
    table.add({{printable(want.name)}, {number_word(want.amount)}, {number_word(sum)}, {join(by, ", ")}});
  }
  return table.draw(look);
}

std::string proof(const FleetAnswer& answer) {
  std::string out;
  for (const auto& level : answer.plan.levels) {
    if (!out.empty()) out += "; ";
    out += fmt::format("{} {}", level.name, number_word(level.value));
    out += level.proven() ? " (proven least)"
                          : fmt::format(" (at least {}, gap {:.2f} %)", number_word(level.bound),
                                        100 * (level.value - level.bound) / std::max(1.0, level.value));
  }
  out = (answer.plan.optimal() ? "optimal: " : "best found: ") + out + fmt::format("; by {}", answer.plan.method);
  if (answer.plan.stopped) out += "; stopped by the clock: another run may find another plan";
  return out + '\n';
}

std::string summary(const FleetAnswer& answer) {
  const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
  std::string out = fmt::format("{} in use, {} changed; {} created, {} destroyed",
                                count_of(static_cast<std::size_t>(sums.gpus_used), "GPU"), sums.gpus_touched,
                                count_of(static_cast<std::size_t>(sums.created), "instance"), sums.destroyed);
  if (sums.cost != static_cast<double>(sums.gpus_used)) out += fmt::format("; cost {}", number_word(sums.cost));
  out += fmt::format("; {}\n", count_of(answer.nodes.size(), "node layout"));
  return out;
}

std::string draw_turn_on(const FleetAnswer& answer) {
  const auto words = turn_on_words(answer);
  return words.empty() ? "" : printable(words) + '\n';
}

// A table that names no board is taken for all: the reader judges whether it may be.
std::string times_of(const FleetAnswer& answer) {
  return "times are those of " + printable(answer.points_table) +
         (times_for_every_board(answer) ? ", taken for every board" : "");
}

std::string draw_in_all(const FleetAnswer& answer) {
  const auto gpus = gpus_in_all(answer);
  const auto parts = parts_in_all(answer, gpus, "counts and services");
  return parts.empty()
             ? ""
             : fmt::format("\nin all {} in use{}\n", count_of(static_cast<std::size_t>(gpus.sum()), "GPU"), parts);
}

std::string draw_services(const FleetAnswer& answer) {
  std::string out;
  if (answer.rule && answer.rule->kind == fleet::ServiceRule::Kind::queueing)
    out += fmt::format(
        "services: {:g} % of requests within their limit, arrivals' variability {:g}{}; {}\n",
        100 * answer.rule->quantile, answer.rule->variability,
        answer.rule->time_margin > 1 ? fmt::format(", times taken {:g} times as long", answer.rule->time_margin) : "",
        answer.predicted ? "times are predicted, and planned with the longest of 99.5 % of what they may be"
                         : times_of(answer));
  else if (answer.rule)
    out += fmt::format("services: a batch takes less than 0.45 of its limit, no queueing; {}\n", times_of(answer));
  for (const auto& each : answer.confirmed) {
    out += fmt::format(
        "simulated: {} meets its limit in {} of {} runs, {:.2f} % of requests late, {:.2f} % in the worst run",
        printable(each.name), each.met, each.runs, 100 * each.late_share, 100 * each.worst_share);
    out += is_kept(each) ? "\n" : ": the promise is NOT confirmed, plan with a larger time_margin\n";
  }
  return out;
}

}  // namespace

std::string draw_fleet_plan(const Look& look, const FleetAnswer& answer) {
  std::string out;
  if (answer.steady) {
    out = draw_groups(look, answer) + '\n' + draw_demand(look, answer) + '\n' + summary(answer) + proof(answer);
    out += draw_services(answer) + draw_explanation(look, answer);
  }
  for (const auto& part : {draw_leases(look, answer), draw_batch(look, answer)}) {
    if (!part.empty() && !out.empty()) out += '\n';
    out += part;
  }
  out += draw_timed_explanation(look, answer);
  out += draw_in_all(answer) + draw_turn_on(answer);
  for (const auto& path : answer.written) out += "wrote " + path + '\n';
  return out;
}

}  // namespace partita::cli
