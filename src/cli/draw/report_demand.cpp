// Who serves what: lines of the demand, and services with what they were promised.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/report_parts.h"

namespace partita::cli {
namespace {

using report::Kind;

std::string server_name(const FleetAnswer& answer, const Served& by) {
  const auto& board = *kind_of(answer, by.kind).board;
  return fmt::format("{} × {} on {}", by.instances, board.profiles[static_cast<std::size_t>(by.profile)].name,
                     board.id);
}

// "99 % within 6434 ms".
std::string promise(const FleetAnswer& answer, const fleet::Service& service) {
  if (answer.rule && answer.rule->kind == fleet::ServiceRule::Kind::queueing)
    return fmt::format("{:g} % of requests within {:.12g} ms", 100 * answer.rule->quantile, service.limit_ms);
  return fmt::format("a batch within 0.45 × {:.12g} ms, without queueing", service.limit_ms);
}

report::Table confirmed_table(const FleetAnswer& answer) {
  report::Table out{
      "Promised, and confirmed by simulation",
      {"service", "latency limit (ms)", "promised", "runs that met it", "late requests (%)",
       "late in the worst run (%)", "confirmed"},
      {Kind::input, Kind::input, Kind::predicted, Kind::simulated, Kind::simulated, Kind::simulated, Kind::simulated},
      {}};
  for (std::size_t s = 0; s < answer.services.size(); ++s) {
    const auto& service = answer.services[s];
    std::vector<std::string> row{service.name, fmt::format("{:.12g}", service.limit_ms), promise(answer, service)};
    if (s < answer.confirmed.size()) {
      const auto& each = answer.confirmed[s];
      row.insert(row.end(), {fmt::format("{} of {}", each.met, each.runs), fmt::format("{:.2f}", 100 * each.late_share),
                             fmt::format("{:.2f}", 100 * each.worst_share), is_kept(each) ? "yes" : "NO"});
    } else {
      row.insert(row.end(), {"–", "–", "–", "not simulated"});
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

report::Table instances_table(const FleetAnswer& answer) {
  const auto times = answer.predicted ? Kind::predicted : Kind::measured;
  report::Table out{"Instances of the services",
                    {"service", "rate (requests/s)", "instances", "batch", "processes in each", "time of a batch (ms)",
                     "each takes up to (requests/s)"},
                    {Kind::input, Kind::input, Kind::planned, Kind::planned, Kind::planned, times, Kind::predicted},
                    {}};
  const auto counted = answer.demand.wants.size() - answer.choices.size();
  for (std::size_t s = 0; s < answer.services.size(); ++s)
    for (const auto& by : served(answer, counted + s)) {
      const auto* choice = choice_behind(answer, counted + s, by);
      if (choice == nullptr) continue;
      out.rows.push_back({answer.services[s].name, fmt::format("{:.12g}", answer.services[s].rate_per_s),
                          server_name(answer, by), std::to_string(choice->batch), std::to_string(choice->processes),
                          fmt::format("{:.4g}", choice->latency_ms), fmt::format("{:.4g}", choice->rate_per_s)});
    }
  return out;
}

}  // namespace

report::Section demand_section(const FleetAnswer& answer) {
  report::Section out{"Who serves what", {}, {}};
  report::Table table{"The demand, line by line",
                      {"line", "wanted", "served", "by"},
                      {Kind::input, Kind::input, Kind::planned, Kind::planned},
                      {}};
  for (std::size_t w = 0; w < answer.demand.wants.size(); ++w) {
    const auto& want = answer.demand.wants[w];
    double sum = 0;
    std::vector<std::string> by;
    for (const auto& each : served(answer, w)) {
      sum += each.amount;
      by.push_back(server_name(answer, each));
    }
    table.rows.push_back({want.name + (is_service(answer, w) ? ", requests/s" : ""), number_word(want.amount),
                          number_word(sum), join(by, ", ")});
  }
  if (const auto more = cut_rows(table, "lines"); !more.empty()) out.paragraphs.push_back(more);
  out.parts.emplace_back(std::move(table));
  return out;
}

report::Section services_section(const FleetAnswer& answer) {
  report::Section out{"Services", {}, {}};
  if (answer.confirmed.empty())
    out.paragraphs.emplace_back("What is promised here was not played in simulated time.");
  else
    out.paragraphs.push_back(
        fmt::format("Each service was played in {} simulated runs, with arrivals and service times that the plan has "
                    "not seen. A limit counts as "
                    "confirmed when at least 99 % of the runs met it.",
                    answer.confirmed.front().runs));
  for (auto table : {confirmed_table(answer), instances_table(answer)}) {
    if (const auto more = cut_rows(table, "rows"); !more.empty()) out.paragraphs.push_back(more);
    out.parts.emplace_back(std::move(table));
  }
  return out;
}

}  // namespace partita::cli
