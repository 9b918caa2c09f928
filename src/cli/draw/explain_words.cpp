#include "cli/draw/explain_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "fleet/schedule/moment.h"

namespace partita::cli {
namespace {

using fleet::Explanation;
using fleet::Goal;
using fleet::Level;
using fleet::Margin;
using report::Kind;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string counted(double value, std::string_view singular) {
  return number_word(value) + " " + std::string(singular) + (value == 1 ? "" : "s");
}

std::string level_word(const FleetAnswer& answer, const Level& level) {
  std::string out = level.name + " " + number_word(level.value);
  if (level.name == "cost") out = cost_word(answer, level.value);
  if (level.name == "GPUs touched") out = counted(level.value, "GPU") + " changed";
  if (level.name == "instances destroyed") out = counted(level.value, "instance") + " destroyed";
  if (level.name == "instances created") out = counted(level.value, "instance") + " created";
  return level.proven() ? out : out + fmt::format(" (at least {})", number_word(level.bound));
}

std::string levels_word(const FleetAnswer& answer, const fleet::Otherwise& otherwise) {
  if (!otherwise) return "no plan";
  std::vector<std::string> parts;
  for (const auto& level : *otherwise) parts.push_back(level_word(answer, level));
  return join(parts, ", ");
}

// "no change" where another fleet gives the same plan, as far as it was planned again.
std::string change_word(const FleetAnswer& answer, const fleet::Otherwise& otherwise) {
  const auto& planned = answer.plan.levels;
  const auto same = [](const Level& a, const Level& b) { return std::abs(a.value - b.value) < 1e-6; };
  if (otherwise && otherwise->size() <= planned.size() &&
      std::equal(otherwise->begin(), otherwise->end(), planned.begin(), same))
    return "no change";
  return levels_word(answer, otherwise);
}

const fleet::Want& want_of(const FleetAnswer& answer, const Margin& margin) {
  return answer.demand.wants[at(margin.want)];
}

void add_bindings(const FleetAnswer& answer, const Explanation& explanation, std::vector<std::string>& lines) {
  const auto ask = [&](const fleet::Binding& each) {
    return has_prices(answer) ? "cost " + number_word(each.least_cost) : fmt::format("{:.2f} GPUs", each.least_cost);
  };
  const auto& list = explanation.bindings;
  for (const auto& each : list) {
    if (!each.binds) continue;
    if (each.resource == "what is pinned") {
      lines.push_back("what is pinned binds: it needs as many GPUs as this plan, with or without the demand");
    } else if (each.resource.starts_with("how ")) {
      auto line = fmt::format("{} binds", each.resource);
      if (list.size() > 1)
        line +=
            fmt::format(": no resource alone asks for as much, {} come next with {}", list[1].resource, ask(list[1]));
      if (!answer.plan.optimal()) line += "; or a better plan was not found";
      lines.push_back(std::move(line));
    } else {
      lines.push_back(fmt::format("{} bind: even if nothing else were short, the demand would ask for {}",
                                  each.resource, ask(each)));
    }
  }
}

// What must go for a plan that is the cheapest GPU less, and what such a GPU more gives most of, as shares of a want.
void add_neighbours(const FleetAnswer& answer, const Explanation& explanation, std::vector<std::string>& lines) {
  const auto& margins = explanation.margins;
  const auto share = [&](const Margin& margin, double value) { return value / want_of(answer, margin).amount; };
  const auto kept = [&](const Margin& margin) { return share(margin, margin.cheaper.value_or(-1)); };
  const auto cheaper = std::ranges::max_element(margins, {}, kept);
  const auto roomier =
      std::ranges::max_element(margins, {}, [&](const auto& each) { return share(each, each.roomier); });
  const double cost = answer.plan.levels.front().value;
  const auto instead = [&](const Margin& margin, double value) {
    const auto& want = want_of(answer, margin);
    return fmt::format("{}{} of {} instead of {}, all else kept", number_word(value),
                       is_service(answer, at(margin.want)) ? " requests/s" : "", want.name, number_word(want.amount));
  };
  const auto left = cheaper->cheaper;
  lines.push_back(fmt::format("next cheaper plan ({}): ", cost_word(answer, cost - explanation.gpu_price)) +
                  (left ? instead(*cheaper, *left) : "only with less of several lines at once"));
  lines.push_back(fmt::format("next roomier plan ({}): ", cost_word(answer, cost + explanation.gpu_price)) +
                  (share(*roomier, roomier->roomier) <= 1 + 1e-9 ? "no line finds more room"
                                                                 : instead(*roomier, roomier->roomier)));
}

std::string without_word(const FleetAnswer& answer, const Margin& margin) {
  return answer.demand.wants.size() == 1 ? "nothing" : levels_word(answer, margin.without);
}

report::Table room_table(const FleetAnswer& answer, const Explanation& explanation) {
  const bool priced = has_prices(answer);
  const auto price = number_word(explanation.gpu_price);
  report::Table out;
  out.title = "How much of each line would fit at least, if only this line changed";
  out.columns = {"line",
                 "wanted",
                 priced ? "for " + price + " less" : "with one GPU less",
                 "at this cost",
                 priced ? "for " + price + " more" : "with one GPU more",
                 priced ? "one more costs" : "one more takes (GPUs)",
                 "without it"};
  if (!priced) out.columns[3] = "on as many GPUs";
  out.kinds.assign(out.columns.size(), Kind::planned);
  out.kinds[0] = out.kinds[1] = Kind::input;
  for (const auto& margin : explanation.margins) {
    const auto unit = is_service(answer, at(margin.want)) ? ", requests/s" : "";
    out.rows.push_back({want_of(answer, margin).name + unit, number_word(want_of(answer, margin).amount),
                        margin.cheaper ? number_word(*margin.cheaper) : "–", number_word(margin.here),
                        number_word(margin.roomier), fmt::format("{:.3g}", margin.price),
                        without_word(answer, margin)});
  }
  return out;
}

report::Table left_out_table(const FleetAnswer& answer, const Explanation& explanation) {
  report::Table out{"The plan without a line", {"without", "then"}, {Kind::input, Kind::planned}, {}};
  for (const auto& margin : explanation.margins)
    out.rows.push_back({want_of(answer, margin).name, without_word(answer, margin)});
  return out;
}

report::Table gpus_table(const FleetAnswer& answer, const Explanation& explanation) {
  report::Table out{"The same demand with one GPU less or more",
                    {"kind of GPU", "one less", "one more"},
                    {Kind::input, Kind::planned, Kind::planned},
                    {}};
  const auto open = [&](const std::string& board) {
    return std::ranges::any_of(answer.fleet.fleet.kinds,
                               [&](const auto& kind) { return kind.board->id == board && !kind.count; });
  };
  for (const auto& each : explanation.gpus)
    out.rows.push_back({each.board, change_word(answer, each.less),
                        open(each.board) ? "no change: as many as needed are there" : change_word(answer, each.more)});
  return out;
}

std::string cut_short(std::size_t shown, std::size_t all) {
  return shown < all ? fmt::format("{} of {} lines of the demand are explained", shown, all) : "";
}

}  // namespace

std::string number_word(double value) {
  const bool whole = std::abs(value - std::round(value)) < 1e-6 && std::abs(value) < 1e15;
  return whole ? fmt::format("{:.0f}", std::round(value)) : fmt::format("{:.1f}", value);
}

bool has_prices(const FleetAnswer& answer) {
  return std::ranges::any_of(answer.fleet.fleet.kinds, [](const auto& kind) { return kind.price != 1; });
}

std::string cost_word(const FleetAnswer& answer, double value) {
  return has_prices(answer) ? "cost " + number_word(value) : counted(value, "GPU");
}

bool is_service(const FleetAnswer& answer, std::size_t want) {
  return want >= answer.demand.wants.size() - answer.choices.size();
}

Explained explained(const FleetAnswer& answer) {
  Explained out;
  if (!answer.explanation) return out;
  if (answer.explanation->margins.empty()) {
    if (answer.explanation->stopped) out.lines.emplace_back("the clock ended before anything could be explained");
    return out;
  }
  const auto& explanation = *answer.explanation;
  if (answer.demand.goal == Goal::cost) {
    add_bindings(answer, explanation, out.lines);
    add_neighbours(answer, explanation, out.lines);
    if (std::ranges::any_of(explanation.margins, [](const auto& margin) { return !margin.cheaper; }))
      out.lines.emplace_back("–: the other lines alone need as much, or no plan was found");
    out.tables.push_back(room_table(answer, explanation));
  } else {
    out.tables.push_back(left_out_table(answer, explanation));
  }
  if (explanation.stopped) out.lines.emplace_back("the clock ended the explanation before all of it was found");
  if (const auto cut = cut_short(explanation.margins.size(), answer.demand.wants.size()); !cut.empty())
    out.lines.push_back(cut);
  if (!explanation.gpus.empty()) out.tables.push_back(gpus_table(answer, explanation));
  return out;
}

Explained explained_leases(const FleetAnswer& answer) {
  Explained out;
  if (!answer.leases || answer.lease_margins.empty()) return out;
  const auto& plan = *answer.leases;
  out.lines.push_back(fmt::format("the leases need most room at {}: {} beside what is pinned or serves",
                                  fleet::seconds_word(plan.calendar.peak_s), cost_word(answer, plan.calendar.cost)));
  report::Table table{"The plan without a lease",
                      {"without", "runs at that moment", "the others need"},
                      {Kind::input, Kind::planned, Kind::planned},
                      {}};
  for (const auto& margin : answer.lease_margins)
    table.rows.push_back(
        {plan.leases[at(margin.lease)].name, margin.at_peak ? "yes" : "no", cost_word(answer, margin.cost_without)});
  out.tables.push_back(std::move(table));
  return out;
}

Explained explained_jobs(const FleetAnswer& answer) {
  Explained out;
  if (!answer.batch || !answer.batch_margin) return out;
  const auto& plan = *answer.batch;
  const auto& margin = *answer.batch_margin;
  const auto goal = plan.batch.goal;
  const auto value = [&](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.1f} s", *seconds) : "not all jobs run";
  };
  out.lines.push_back(fmt::format("the last to end is {}, at {:.1f} s; alone it would end at {:.1f} s",
                                  plan.batch.jobs[at(margin.last)].name, plan.schedule.makespan_s, margin.alone_s));
  if (margin.stopped) {
    out.lines.emplace_back("the clock ended the search for schedules with one GPU less or more");
    return out;
  }
  out.lines.push_back(fmt::format("{}: {}; with one {} less {}, with one more {}",
                                  goal == fleet::JobGoal::makespan ? "end of the last job" : "mean completion",
                                  value(plan.schedule.value(goal)), margin.board, value(margin.less),
                                  value(margin.more)));
  return out;
}

}  // namespace partita::cli
