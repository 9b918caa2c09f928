// Error tables as JSON: docs/json.md, "predict validate".
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"
#include "api/json_rounded.h"

namespace partita::api {
namespace {

Json errors_json(const std::vector<predict::Errors>& tables) {
  Json out = Json::array();
  for (const auto& each : tables)
    out.push_back({{"name", each.name},
                   {"rows", each.rows},
                   {"mean", rounded(each.mean)},
                   {"median", rounded(each.median)},
                   {"p90", rounded(each.p90)},
                   {"inside_interval", each.inside ? Json(rounded(*each.inside)) : Json(nullptr)}});
  return out;
}

Json rows_json(const std::vector<predict::WorstRow>& rows) {
  Json out = Json::array();
  for (const auto& row : rows)
    out.push_back({{"line", row.line},
                   {"what", row.what},
                   {"measured_per_s", rounded(row.measured)},
                   {"predicted_per_s", rounded(row.predicted)},
                   {"error", rounded(row.error)},
                   {"left_out", row.left_out.empty() ? Json(nullptr) : Json(row.left_out)}});
  return out;
}

Json skipped_json(const std::vector<predict::Skipped>& skipped) {
  Json out = Json::array();
  for (const auto& each : skipped)
    out.push_back({{"reason", each.reason}, {"rows", each.rows}, {"first_lines", each.lines}});
  return out;
}

Json report_json(const predict::SetReport& report) {
  Json out;
  out["name"] = report.name;
  out["title"] = report.title;
  out["rows"] = report.rows;
  out["skipped"] = skipped_json(report.skipped);
  out["assumed"] = report.assumed;
  out["unused_columns"] = report.unused_columns;
  out["throughput"] = errors_json(report.time);
  out["ratio"] = errors_json(report.ratio);
  out["two_points"] = errors_json(report.two_points);
  out["memory"] = errors_json(report.memory);
  out["by_workload"] = errors_json(report.by_workload);
  out["by_profile"] = errors_json(report.by_profile);
  out["ratio_by_profile"] = errors_json(report.ratio_by_profile);
  out["four_over_three"] = nullptr;
  if (report.four_over_three)
    out["four_over_three"] = {{"predicted", rounded(report.four_over_three->first)},
                              {"measured", rounded(report.four_over_three->second)}};
  out["fits"] = {{"answers", report.fit_answers}, {"right", report.fit_right}, {"uncertain", report.fit_uncertain}};
  out["worst"] = rows_json(report.worst);
  out["left_out"] = rows_json(report.left_out);
  return out;
}

}  // namespace

std::string to_json(const std::vector<predict::SetReport>& reports) {
  Json out;
  out["datasets"] = Json::array();
  for (const auto& report : reports) out["datasets"].push_back(report_json(report));
  return to_text(out);
}

}  // namespace partita::api
