#include "api/json_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace partita::api {
namespace {

Json compute_json(const layout::Gpu& gpu, const layout::GpuInstance& instance, const layout::ComputeInstance& compute) {
  const auto* profile = profile_at(gpu.board.get(), instance.profile);
  const bool known =
      profile && compute.profile >= 0 && static_cast<std::size_t>(compute.profile) < profile->compute.size();
  const auto* kind = known ? &profile->compute[static_cast<std::size_t>(compute.profile)] : nullptr;
  Json out;
  out["id"] = compute.id;
  out["profile"] = kind ? Json(kind->name) : Json(nullptr);
  out["compute_slices"] = kind ? Json(kind->compute_slices) : Json(nullptr);
  out["placement_start"] = compute.placement.start;
  out["placement_size"] = compute.placement.size;
  out["uuid"] = compute.uuid.empty() ? Json(nullptr) : Json(compute.uuid);
  out["path"] = fmt::format("MIG-{}/{}/{}", gpu.uuid, instance.id, compute.id);
  out["mig_index"] = value_or_null(compute.mig_index);
  return out;
}

std::string_view reason_word(layout::Pin::Reason reason) {
  switch (reason) {
    case layout::Pin::Reason::busy:
      return "busy";
    case layout::Pin::Reason::leased:
      return "leased";
    case layout::Pin::Reason::foreign:
      return "foreign";
  }
  return "busy";
}

Json instance_json(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  const auto* profile = profile_at(gpu.board.get(), instance.profile);
  Json out;
  out["id"] = instance.id;
  out["profile"] = profile ? Json(profile->name) : Json(nullptr);
  out["profile_id"] = profile ? value_or_null(profile->id) : Json(nullptr);
  out["placement_start"] = instance.placement.start;
  out["placement_size"] = instance.placement.size;
  out["compute_slices"] = profile ? Json(profile->compute_slices) : Json(nullptr);
  out["memory_slices"] = profile ? Json(profile->memory_slices) : Json(nullptr);
  out["memory_bytes"] = profile ? bytes_or_null(profile->memory) : Json(nullptr);
  out["sm_count"] = profile ? value_or_null(profile->sm) : Json(nullptr);
  out["compute_instances"] = Json::array();
  for (const auto& compute : instance.compute) out["compute_instances"].push_back(compute_json(gpu, instance, compute));
  out["pins"] = Json::array();
  for (const auto& pin : instance.pins)
    out["pins"].push_back({{"reason", reason_word(pin.reason)}, {"holder", pin.holder}});
  return out;
}

Json process_json(const layout::Process& process) {
  Json out;
  out["pid"] = process.pid;
  out["name"] = process.name.empty() ? Json(nullptr) : Json(process.name);
  out["memory_bytes"] = bytes_or_null(process.memory);
  out["gpu_instance_id"] = value_or_null(process.gpu_instance);
  out["compute_instance_id"] = value_or_null(process.compute_instance);
  return out;
}

}  // namespace

std::string to_text(const Json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_wire_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json object_of(std::size_t members) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(members);
  return out;
}

Json value_or_null(const std::optional<int>& value) { return value ? Json(*value) : Json(nullptr); }
Json value_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json value_or_null(const std::optional<std::string>& value) { return value ? Json(*value) : Json(nullptr); }
Json bytes_or_null(const std::optional<Bytes>& bytes) { return bytes ? Json(bytes->value) : Json(nullptr); }

std::string hex(std::uint32_t value, int digits) { return fmt::format("0x{:0{}X}", value, digits); }

const catalog::Profile* profile_at(const catalog::Board* board, int index) {
  if (!board || index < 0 || static_cast<std::size_t>(index) >= board->profiles.size()) return nullptr;
  return &board->profiles[static_cast<std::size_t>(index)];
}

Json place_json(const catalog::Board* board, int profile, int start) {
  const auto* found = profile_at(board, profile);
  Json out;
  out["profile"] = found ? Json(found->name) : Json(nullptr);
  out["placement_start"] = start;
  out["placement_size"] = found ? Json(found->placement_size) : Json(nullptr);
  return out;
}

void BoardTables::refer(Json& out, const std::shared_ptr<const catalog::Board>& board) {
  if (!included_) return;
  if (!board) {
    out["board_table"] = nullptr;
    return;
  }
  const auto known = std::ranges::find(boards_, board);
  out["board_table"] = known - boards_.begin();
  if (known == boards_.end()) boards_.push_back(board);
}

void BoardTables::write(Json& out) const {
  if (!included_) return;
  out["boards"] = Json::array();
  for (const auto& board : boards_) out["boards"].push_back(board_json(*board));
}

Json gpu_json(const layout::Gpu& gpu, BoardTables& boards) {
  Json out;
  out["index"] = gpu.index;
  out["minor"] = value_or_null(gpu.minor);
  out["uuid"] = gpu.uuid;
  out["pci_bus_id"] = gpu.pci_bus_id;
  out["pci_device_id"] = hex(gpu.pci_device_id, 8);
  out["pci_subsystem_id"] = hex(gpu.pci_subsystem_id, 8);
  out["product"] = gpu.product;
  out["board"] = gpu.board ? Json(gpu.board->id) : Json(nullptr);
  out["memory_bytes"] = gpu.total_memory.value > 0 ? Json(gpu.total_memory.value) : Json(nullptr);
  out["used_memory_bytes"] = bytes_or_null(gpu.used_memory);
  out["utilization_percent"] = value_or_null(gpu.utilization_percent);
  out["fault"] = value_or_null(gpu.fault);
  out["mig_mode"] = gpu.mode ? Json{{"current", gpu.mode->current}, {"pending", gpu.mode->pending}} : Json(nullptr);
  const bool mig = gpu.board && gpu.board->has_mig();
  out["placement_units"] = mig ? Json(gpu.board->placement_units) : Json(nullptr);
  out["memory_slices"] = mig ? Json(gpu.board->memory_slices) : Json(nullptr);
  out["compute_slices"] = mig ? Json(gpu.board->compute_slices) : Json(nullptr);
  out["gpu_instances"] = Json::array();
  for (const auto& instance : gpu.instances) out["gpu_instances"].push_back(instance_json(gpu, instance));
  out["processes"] = Json::array();
  for (const auto& process : gpu.processes) out["processes"].push_back(process_json(process));
  out["nvlink_peers"] = gpu.nvlink_peers;
  boards.refer(out, gpu.board);
  return out;
}

}  // namespace partita::api
