// plan --fleet as a page: the answer first, then how GPUs are cut, who serves what, timelines, and why.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/report_parts.h"

namespace partita::cli {
namespace {

using report::Kind;

std::string counted(std::int64_t n, std::string_view singular) {
  return count_of(static_cast<std::size_t>(n), singular);
}

// "5 × h100-sxm5-80gb and 12 × a30-24gb": the GPUs in use.
std::string boards_in_use(const FleetAnswer& answer) {
  std::vector<std::pair<std::string, std::int64_t>> boards;
  for (const auto& group : answer.plan.groups) {
    if (!fleet::used(group)) continue;
    const auto& id = kind_of(answer, group.kind).board->id;
    const auto known = std::ranges::find(boards, id, &std::pair<std::string, std::int64_t>::first);
    (known != boards.end() ? *known : boards.emplace_back(id, 0)).second += group.count;
  }
  std::vector<std::string> parts;
  for (const auto& [id, count] : boards) parts.push_back(fmt::format("{} × {}", count, id));
  return join(parts, ", ");
}

std::string holds(const FleetAnswer& answer) {
  const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
  auto out = fmt::format("{} {} the {}", counted(sums.gpus_used, "GPU"), sums.gpus_used == 1 ? "holds" : "hold",
                         answer.leases || answer.batch ? "demand without times" : "demand");
  if (sums.gpus_used > 0) out += ": " + boards_in_use(answer);
  if (has_prices(answer))
    out += fmt::format("; together they cost {}, in the unit of the fleet's prices", number_word(sums.cost));
  return out + ".";
}

std::string no_plan_is(const FleetAnswer& answer) {
  switch (answer.demand.goal) {
    case fleet::Goal::cost:
      return has_prices(answer) ? "costs less" : "needs fewer GPUs";
    case fleet::Goal::touched:
      return "changes fewer GPUs";
    case fleet::Goal::disturbance:
      return "destroys fewer instances";
  }
  return "is better";
}

std::string proof(const FleetAnswer& answer) {
  const auto& first = answer.plan.levels.front();
  if (first.proven()) return fmt::format("No plan {}: that is proven.", no_plan_is(answer));
  const double over = first.value - first.bound;
  return fmt::format(
      "This is the best plan found, not proven to be the best: its {} is {}, and none can be below {}, so at most {} "
      "({:.2f} %) "
      "could be saved.",
      first.name, number_word(first.value), number_word(first.bound), number_word(over),
      first.value > 0 ? 100 * over / first.value : 0);
}

std::string changes(const FleetAnswer& answer) {
  const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
  return fmt::format("{} change: {} are created, {} destroyed.", counted(sums.gpus_touched, "GPU"),
                     counted(sums.created, "instance"), sums.destroyed);
}

std::string kept_promises(const FleetAnswer& answer) {
  const auto kept = std::ranges::count_if(answer.confirmed, is_kept);
  const auto all = answer.confirmed.size();
  if (static_cast<std::size_t>(kept) < all)
    return fmt::format("Simulated: only {} of {} meet their latency limit in at least 99 % of the runs.", kept,
                       count_of(all, "service"));
  return fmt::format(
      "Simulated: {} in at least 99 % of {} runs.",
      all == 1 ? "the service meets its latency limit" : fmt::format("all {} services meet their latency limits", all),
      answer.confirmed.front().runs);
}

std::string leases_answer(const fleet::Calendar& calendar) {
  return fmt::format("No timed lease ever waits on {}; at most {} run at once. {}",
                     count_of(calendar.gpus.size(), "GPU"), calendar.most_at_once,
                     calendar.optimal() ? "No plan of them costs less: that is proven."
                                        : fmt::format("They cost {}, and no plan of them is below {}.",
                                                      number_word(calendar.cost), number_word(calendar.bound)));
}

std::string jobs_answer(const fleet::BatchPlan& plan) {
  const auto& schedule = plan.schedule;
  const auto goal = plan.batch.goal;
  auto out = fmt::format("{} on {}: the last ends at {:.1f} s, on average they end at {:.1f} s (predicted). ",
                         count_of(plan.batch.jobs.size(), "job"), count_of(schedule.gpus.size(), "GPU"),
                         schedule.makespan_s, schedule.mean_completion_s);
  if (schedule.optimal(goal)) return out + "No schedule is better: that is proven.";
  return out + fmt::format("No schedule can have {} below {:.1f} s, so at most {:.2f} % could be saved.",
                           goal == fleet::JobGoal::makespan ? "its end" : "its mean", schedule.bound_s,
                           100 * (schedule.value(goal) - schedule.bound_s) / schedule.value(goal));
}

std::vector<std::string> answers(const FleetAnswer& answer) {
  std::vector<std::string> out;
  const auto gpus = gpus_in_all(answer);
  if (const auto parts = parts_in_all(answer, gpus, "what has no times"); !parts.empty())
    out.push_back(counted(gpus.sum(), "GPU") + " in all" + parts + ".");
  if (answer.steady) {
    out.push_back(holds(answer));
    if (!answer.plan.levels.empty()) out.push_back(proof(answer));
    out.push_back(changes(answer));
    if (!answer.confirmed.empty()) out.push_back(kept_promises(answer));
  }
  if (answer.leases) out.push_back(leases_answer(answer.leases->calendar));
  if (answer.batch) out.push_back(jobs_answer(*answer.batch));
  return out;
}

std::vector<std::string> warnings(const FleetAnswer& answer) {
  std::vector<std::string> out;
  for (const auto& each : answer.confirmed)
    if (!is_kept(each))
      out.push_back(
          fmt::format("The promise for {} is not confirmed: it meets its limit in {} of {} simulated runs. Plan with a "
                      "larger time_margin.",
                      each.name, each.met, each.runs));
  if (answer.plan.stopped) out.emplace_back("The clock ended the search: another run may find another plan.");
  if (answer.batch && answer.batch->schedule.stopped)
    out.emplace_back("The clock ended the search for a schedule: another run may find another one.");
  if (const auto words = turn_on_words(answer); !words.empty()) out.push_back(words + ".");
  if ((answer.leases || answer.batch) && !answer.assumed_times.empty())
    out.push_back("Times to create and destroy instances are not known for " + join(answer.assumed_times, ", ") +
                  ": the longest known of other boards are taken.");
  return out;
}

std::vector<std::string> rests_on(const FleetAnswer& answer) {
  std::vector<std::string> out;
  if (answer.rule && answer.rule->kind == fleet::ServiceRule::Kind::queueing)
    out.push_back(fmt::format(
        "Services: {:g} % of requests are within their limit when requests come by chance (variance over mean {:g}) "
        "and "
        "service times are {:g} times what the points say.{}",
        100 * answer.rule->quantile, answer.rule->variability, answer.rule->time_margin,
        answer.predicted ? " Times are predicted, and planned with the longest of 99.5 % of what they may be." : ""));
  else if (answer.rule)
    out.emplace_back("Services: a batch takes less than 0.45 of its limit; queueing is not looked at.");
  if (!answer.choices.empty() && !answer.points_table.empty())
    out.push_back("Service times: " + answer.points_table +
                  (times_for_every_board(answer) ? ", taken for every board." : "."));
  if ((answer.leases || answer.batch) && answer.assumed_times.empty())
    out.emplace_back(
        "Times to create and destroy instances: data/measured/mig_reconfig_times.csv, or the demand file's.");
  out.emplace_back("What a kind of GPU can be cut into: data/boards, shown by partita boards.");
  return out;
}

std::string question(const FleetAnswer& answer) {
  if (!answer.steady)
    return answer.batch ? "Where does each job run, and when are all done?"
                        : "How many GPUs do the leases need so that none of them waits?";
  return answer.demand.goal == fleet::Goal::cost ? "Which GPUs hold the demand at the least cost, and how are they cut?"
                                                 : "How is the fleet cut for the demand with the least change?";
}

}  // namespace

std::string cut_rows(report::Table& table, std::string_view what, std::size_t most) {
  if (table.rows.size() <= most) return "";
  const auto left = table.rows.size() - most;
  table.rows.resize(most);
  return fmt::format("The table \"{}\" shows the first {} {}; {} more are in the JSON output (-o json).", table.title,
                     most, what, left);
}

report::Section explanation_section(const FleetAnswer& answer) {
  report::Section out{"Why this plan, and what a little more or less would change", {}, {}};
  for (auto& part : {explained(answer), explained_leases(answer), explained_jobs(answer)}) {
    for (auto line : part.lines) {
      if (!line.empty()) line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
      out.paragraphs.push_back(line + ".");
    }
    for (const auto& table : part.tables) out.parts.emplace_back(table);
  }
  if (out.paragraphs.empty() && out.parts.empty())
    out.paragraphs.emplace_back(
        "Not asked for. The same command with --explain also says what binds, what the next cheaper and the next "
        "roomier plan hold, and "
        "what one GPU less or more of each kind changes.");
  return out;
}

report::Report fleet_report(const FleetAnswer& answer, const std::string& command) {
  report::Report out;
  out.title = "Fleet plan";
  out.question = question(answer);
  out.command = command;
  out.answer = answers(answer);
  out.warnings = warnings(answer);
  if (answer.steady) {
    out.sections.push_back(gpus_section(answer));
    out.sections.push_back(demand_section(answer));
    if (!answer.choices.empty()) out.sections.push_back(services_section(answer));
  }
  if (answer.leases) out.sections.push_back(leases_section(answer, *answer.leases));
  if (answer.batch) out.sections.push_back(jobs_section(answer, *answer.batch));
  out.sections.push_back(explanation_section(answer));
  out.rests_on = rests_on(answer);
  return out;
}

}  // namespace partita::cli
