// Predictions as JSON: docs/json.md, "predict".
#include <cmath>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"
#include "api/json_rounded.h"
#include "api/predict.h"

namespace partita::api {
namespace {

Json estimate_json(const predict::Estimate& estimate) {
  return {{"median", rounded(estimate.median)}, {"low", rounded(estimate.low)}, {"high", rounded(estimate.high)}};
}

std::uint64_t bytes_of(double mib) { return static_cast<std::uint64_t>(std::llround(mib * 1024 * 1024)); }

Json settings_json(const PredictRequest& request) {
  const auto& settings = request.settings;
  Json out;
  out["mode"] = word_of(kModeWords, settings.mode);
  out["sequence"] = value_or_null(settings.sequence);
  out["matmul_precision"] = word_of(kPrecisionWords, settings.matmul);
  out["convolution_precision"] = word_of(kPrecisionWords, settings.convolution);
  out["framework"] = word_of(kFrameworkWords, settings.framework);
  const bool training = settings.mode == predict::Mode::training;
  out["optimizer"] = training ? Json(word_of(kOptimizerWords, settings.optimizer)) : Json(nullptr);
  out["copy_inside_step"] = settings.copy_inside_step;
  out["processes"] = settings.processes;
  out["busy_neighbours"] = request.query.busy_neighbours;
  out["virtualised"] = request.query.virtualised;
  out["host"] = request.query.host ? Json(request.query.host->name) : Json(nullptr);
  return out;
}

Json row_json(const predict::TableRow& row) {
  const auto& found = row.prediction;
  Json out;
  out["profile"] = row.partition.profile ? Json(row.name) : Json(nullptr);
  out["batch"] = row.batch;
  out["fit"] = predict::name(found.fit);
  out["memory_bytes"] = {{"median", bytes_of(found.memory_mib.median)},
                         {"low", bytes_of(found.memory_mib.low)},
                         {"high", bytes_of(found.memory_mib.high)}};
  out["capacity_bytes"] = found.capacity_mib > 0 ? Json(bytes_of(found.capacity_mib)) : Json(nullptr);
  out["throughput_per_s"] = estimate_json(found.throughput);
  out["step_ms"] = estimate_json(found.step_ms);
  out["bound"] = predict::name(found.bound);
  out["shares"] = Json::object();
  for (const auto bound :
       {predict::Bound::host, predict::Bound::compute, predict::Bound::bandwidth, predict::Bound::copy})
    out["shares"][std::string(predict::name(bound))] = rounded(found.share[static_cast<std::size_t>(bound)]);
  out["extrapolated"] = found.extrapolated;
  out["notes"] = found.notes;
  return out;
}

Json knee_json(const predict::Knee& knee) {
  return {{"profile", knee.name},
          {"batch", value_or_null(knee.batch)},
          {"throughput_per_s", knee.batch ? Json(rounded(knee.throughput)) : Json(nullptr)},
          {"best_throughput_per_s", knee.batch ? Json(rounded(knee.best_throughput)) : Json(nullptr)},
          {"largest_batch", value_or_null(knee.largest_batch)}};
}

Json choice_json(const predict::Table& table, const predict::Choice& choice) {
  const auto* row = choice.row ? &table.rows[*choice.row] : nullptr;
  return {{"profile", row && row->partition.profile ? Json(row->name) : Json(nullptr)},
          {"batch", row ? Json(row->batch) : Json(nullptr)},
          {"met", row != nullptr},
          {"smaller", choice.rejected},
          {"larger", row ? Json(choice.larger) : Json(nullptr)},
          {"doubts", choice.doubts}};
}

Json calibration_json(const AppliedCalibration& applied) {
  Json out;
  out["points"] = applied.points;
  out["device_factor"] = rounded(applied.calibration.device);
  out["bandwidth_factor"] = rounded(applied.calibration.bandwidth);
  out["host_factor"] = rounded(applied.calibration.host);
  out["notes"] = applied.calibration.notes;
  out["measure_next"] = nullptr;
  if (applied.next)
    out["measure_next"] = {{"profile", applied.next->profile},
                           {"batch", applied.next->batch},
                           {"spread_before", rounded(applied.next->spread_before)},
                           {"spread_after", rounded(applied.next->spread_after)}};
  return out;
}

Json board_json(const BoardPrediction& each) {
  Json out;
  out["board"] = each.board->id;
  out["predictions"] = Json::array();
  for (const auto& row : each.table.rows) out["predictions"].push_back(row_json(row));
  out["knees"] = Json::array();
  for (const auto& knee : each.knees) out["knees"].push_back(knee_json(knee));
  out["choice"] = each.choice ? choice_json(each.table, *each.choice) : Json(nullptr);
  out["calibration"] = each.calibration ? calibration_json(*each.calibration) : Json(nullptr);
  return out;
}

}  // namespace

std::string to_json(const PredictAnswer& answer) {
  Json out;
  out["workload"] = answer.workload;
  out["title"] = answer.title;
  out["unit"] = answer.boards.empty() ? Json(nullptr) : Json(answer.boards.front().table.unit);
  out["settings"] = settings_json(answer.request);
  out["boards"] = Json::array();
  for (const auto& each : answer.boards) out["boards"].push_back(board_json(each));
  return to_text(out);
}

std::string to_json(const TwoPointAnswer& answer) {
  Json out;
  out["board"] = answer.board->id;
  out["batch"] = answer.points.largest.batch;
  out["predictions"] = Json::array();
  for (const auto& row : answer.rows)
    out["predictions"].push_back({{"profile", row.profile},
                                  {"measured", row.measured},
                                  {"beyond_points", row.beyond},
                                  {"step_ms", estimate_json(row.step_ms)}});
  return to_text(out);
}

std::string to_json(const std::vector<WorkloadRow>& workloads) {
  Json out;
  out["workloads"] = Json::array();
  for (const auto& each : workloads)
    out["workloads"].push_back({{"name", each.name},
                                {"title", each.title},
                                {"unit", each.unit},
                                {"sequence", value_or_null(each.sequence)},
                                {"multiply_accumulates", std::llround(each.macs)},
                                {"parameters", std::llround(each.parameters)}});
  return to_text(out);
}

}  // namespace partita::api
