#include "api/json.h"

#include <nlohmann/json.hpp>

#include "api/json_parts.h"

namespace partita::api {
namespace {

Json node_json(const layout::NodeState& state, BoardTables& boards) {
  Json out;
  out["driver_version"] = state.driver_version.empty() ? Json(nullptr) : Json(state.driver_version);
  out["nvml_version"] = state.nvml_version.empty() ? Json(nullptr) : Json(state.nvml_version);
  out["gpus"] = Json::array();
  for (const auto& gpu : state.gpus) out["gpus"].push_back(gpu_json(gpu, boards));
  return out;
}

std::string_view action_word(plan::Step::Kind kind) {
  switch (kind) {
    case plan::Step::Kind::destroy_compute:
      return "destroy_compute_instance";
    case plan::Step::Kind::destroy_gpu_instance:
      return "destroy_gpu_instance";
    case plan::Step::Kind::create_gpu_instance:
      return "create_gpu_instance";
    case plan::Step::Kind::create_compute:
      return "create_compute_instance";
  }
  return "create_gpu_instance";
}

Json step_json(const catalog::Board* board, const plan::Step& step) {
  using Kind = plan::Step::Kind;
  Json out;
  out["action"] = action_word(step.kind);
  out.update(place_json(board, step.profile, step.start));
  if (step.kind != Kind::destroy_compute && step.kind != Kind::create_compute) return out;
  const auto* profile = profile_at(board, step.profile);
  const bool known = profile && step.compute >= 0 && static_cast<std::size_t>(step.compute) < profile->compute.size();
  out["compute_profile"] = known ? Json(profile->compute[static_cast<std::size_t>(step.compute)].name) : Json(nullptr);
  out["compute_placement_start"] = step.compute_start;
  return out;
}

Json places_json(const catalog::Board* board, const std::vector<plan::Placed>& places) {
  auto out = Json::array();
  for (const auto& placed : places) out.push_back(place_json(board, placed.profile, placed.start));
  return out;
}

Json change_json(const GpuChange& change, BoardTables& boards) {
  const auto* board = change.board ? change.board.get() : change.before.board.get();
  Json out;
  out["gpu"] = change.before.uuid;
  out["index"] = change.before.index;
  out["board"] = board ? Json(board->id) : Json(nullptr);
  out["set_mig_mode"] = change.set_mode ? Json(*change.set_mode) : Json(nullptr);
  out["needs_reset"] = change.needs_reset;
  out["reset_together"] = change.reset_together;
  out["steps"] = Json::array();
  for (const auto& step : change.plan.steps) out["steps"].push_back(step_json(board, step));
  out["kept"] = places_json(board, change.plan.kept);
  out["result"] = places_json(board, change.plan.result);
  out["gpu_instances_destroyed"] = change.plan.gpu_instances_destroyed;
  out["gpu_instances_created"] = change.plan.gpu_instances_created;
  out["compute_instances_destroyed"] = change.plan.compute_destroyed;
  out["compute_instances_created"] = change.plan.compute_created;
  out["before"] = gpu_json(change.before, boards);
  boards.refer(out, change.board);
  return out;
}

Json plan_json(const NodePlanAnswer& answer, BoardTables& boards) {
  Json out;
  out["changes"] = Json::array();
  for (const auto& change : answer.changes) out["changes"].push_back(change_json(change, boards));
  out["unchanged"] = answer.unchanged;
  out["gpu_instances_kept"] = answer.gpu_instances_kept;
  out["gpu_instances_destroyed"] = answer.gpu_instances_destroyed;
  out["gpu_instances_created"] = answer.gpu_instances_created;
  out["forced"] = answer.forced;
  out["warnings"] = answer.warnings;
  if (boards.included()) out["before"] = node_json(answer.before, boards);
  return out;
}

// The text of a document with or without its boards.
std::string finished(Json out, const BoardTables& boards) {
  if (!boards.included()) return to_text(out);
  boards.write(out);
  return to_wire_text(out);
}

std::string_view level_word(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok:
      return "ok";
    case Finding::Level::warning:
      return "warning";
    case Finding::Level::problem:
      return "problem";
  }
  return "problem";
}

}  // namespace

std::string to_json(const StatusAnswer& answer, Boards boards) {
  BoardTables tables(boards == Boards::included);
  Json out;
  out["node"] = answer.node;
  out["emulated"] = answer.emulated;
  out.update(node_json(answer.state, tables));
  out["notes"] = answer.notes;
  return finished(std::move(out), tables);
}

std::string to_json(const layout::NodeState& state, Boards boards) {
  BoardTables tables(boards == Boards::included);
  auto out = node_json(state, tables);
  return finished(std::move(out), tables);
}

std::string to_json(const NodePlanAnswer& answer, Boards boards) {
  BoardTables tables(boards == Boards::included);
  auto out = plan_json(answer, tables);
  return finished(std::move(out), tables);
}

std::string to_json(const ApplyAnswer& answer, Boards boards) {
  BoardTables tables(boards == Boards::included);
  Json out;
  out["plan"] = plan_json(answer.plan, tables);
  out["after"] = node_json(answer.after, tables);
  out["pending_reset"] = answer.pending_reset;
  out["recovered"] = answer.recovered;
  return finished(std::move(out), tables);
}

std::string to_json(const AssertAnswer& answer) {
  Json out;
  out["matches"] = answer.differences.empty();
  out["differences"] = Json::array();
  for (const auto& difference : answer.differences)
    out["differences"].push_back({{"gpu", difference.gpu}, {"what", difference.what}});
  out["warnings"] = answer.warnings;
  return to_text(out);
}

std::string to_json(const DoctorAnswer& answer) {
  Json out;
  out["findings"] = Json::array();
  for (const auto& finding : answer.findings)
    out["findings"].push_back({{"level", level_word(finding.level)},
                               {"what", finding.what},
                               {"found", finding.found},
                               {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
  return to_text(out);
}

std::string to_json(const Error& error) {
  Json out;
  out["error"] = {{"code", name(error.code)}, {"message", error.message}, {"details", error.details}};
  return to_text(out);
}

}  // namespace partita::api
