// Leases, events and the policy as JSON, and the requests that lead to them.
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"

namespace partita::api {
namespace {

using std::chrono::milliseconds;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json ms_or_null(const std::optional<milliseconds>& value) { return value ? Json(value->count()) : Json(nullptr); }

Json labels_json(const std::map<std::string, std::string>& labels) {
  auto out = Json::object();
  for (const auto& [key, value] : labels) out[key] = value;
  return out;
}

Json process_json(const ProcessId& process) {
  Json out = object_of(2);
  out["pid"] = process.pid;
  out["start_time_ticks"] = process.start_time;
  return out;
}

Json holder_json(const Holder& holder) {
  Json out = object_of(5);
  out["kind"] = to_string(holder.kind);
  out["uid"] = holder.uid;
  out["user"] = holder.user;
  out["id"] = text_or_null(holder.id);
  out["process"] = holder.process ? process_json(*holder.process) : Json(nullptr);
  return out;
}

Json requirement_json(const Requirement& requirement) {
  Json out = object_of(11);
  out["profile"] = text_or_null(requirement.profile);
  out["memory_bytes"] = bytes_or_null(requirement.memory);
  out["sm_count"] = value_or_null(requirement.sms);
  out["whole_gpu"] = requirement.whole_gpu;
  out["bare"] = requirement.bare;
  out["compute"] = requirement.compute;
  out["gpu"] = value_or_null(requirement.gpu);
  out["placement_start"] = value_or_null(requirement.start);
  out["board"] = value_or_null(requirement.board);
  out["exclusive_gpu"] = requirement.exclusive_gpu;
  out["same_gpu_as"] = value_or_null(requirement.same_gpu_as);
  return out;
}

Json host_limits_json(const HostLimits& limits) {
  Json out = object_of(2);
  out["cpus"] = value_or_null(limits.cpus);
  out["memory_bytes"] = bytes_or_null(limits.memory);
  return out;
}

Json device_json(const GrantedDevice& device) {
  Json out = object_of(15);
  out["uuid"] = text_or_null(device.uuid);
  out["index"] = text_or_null(device.index);
  out["cdi"] = text_or_null(device.cdi);
  out["profile"] = text_or_null(device.profile);
  out["gpu"] = device.gpu;
  out["gpu_index"] = device.gpu_index;
  out["pci_bus_id"] = device.pci_bus_id;
  out["board"] = text_or_null(device.board);
  out["placement_start"] = value_or_null(device.start);
  out["gpu_instance_id"] = value_or_null(device.gpu_instance);
  out["compute_instance_id"] = value_or_null(device.compute_instance);
  out["memory_bytes"] = device.memory.value;
  out["sm_count"] = device.sms;
  out["compute_slices"] = device.compute_slices;
  out["memory_slices"] = device.memory_slices;
  return out;
}

Json grant_json(const Grant& grant) {
  Json out = object_of(3);
  out["cuda_visible_devices"] = grant.cuda_visible_devices;
  out["devices"] = Json::array();
  for (const auto& device : grant.devices) out["devices"].push_back(device_json(device));
  out["nodes"] = Json::array();
  for (const auto& node : grant.nodes)
    out["nodes"].push_back(
        {{"path", node.path}, {"major", node.major}, {"minor", node.minor}, {"capability", node.capability}});
  return out;
}

Json lease_json(const Lease& lease) {
  Json out = object_of(18);
  out["id"] = lease.id;
  out["name"] = lease.name;
  out["state"] = to_string(lease.state);
  out["holder"] = holder_json(lease.holder);
  out["requirement"] = requirement_json(lease.requirement);
  out["priority"] = to_string(lease.priority);
  out["labels"] = labels_json(lease.labels);
  out["asked_at"] = time_text(lease.asked);
  out["granted_at"] = time_or_null(lease.granted);
  out["expires_at"] = time_or_null(lease.expires);
  out["ended_at"] = time_or_null(lease.ended);
  out["grant"] = lease.grant ? grant_json(*lease.grant) : Json(nullptr);
  out["queue_position"] = value_or_null(lease.queue_position);
  out["estimate_at"] = time_or_null(lease.estimate);
  out["cause"] = text_or_null(lease.cause);
  out["cause_details"] = lease.cause_details;
  out["recut"] = lease.recut;
  out["host_limits"] = host_limits_json(lease.host_limits);
  return out;
}

Json event_json(const Event& event) {
  Json out;
  out["number"] = event.number;
  out["at"] = time_text(event.at);
  out["kind"] = event.kind;
  out["lease"] = text_or_null(event.lease);
  out["text"] = event.text;
  return out;
}

Json change_json(const LeaseChange& change) {
  Json out;
  out["grace_ms"] = change.grace.count();
  out["force"] = change.force;
  return out;
}

}  // namespace

std::string to_json(const Lease& lease) { return to_text(lease_json(lease)); }

std::string to_json(const std::vector<Lease>& leases) {
  Json out;
  out["leases"] = Json::array();
  for (const auto& lease : leases) out["leases"].push_back(lease_json(lease));
  return to_text(out);
}

std::string to_json(const Event& event) { return to_wire_text(event_json(event)); }

std::string to_json(const std::vector<Event>& events) {
  Json out;
  out["events"] = Json::array();
  for (const auto& event : events) out["events"].push_back(event_json(event));
  return to_text(out);
}

std::string to_json(const PolicyAnswer& answer) {
  Json out;
  out["file"] = text_or_null(answer.file);
  out["default_duration_ms"] = ms_or_null(answer.default_duration);
  out["longest_duration_ms"] = ms_or_null(answer.longest_duration);
  out["quotas"] = Json::array();
  for (const auto& row : answer.quotas)
    out["quotas"].push_back({{"who", row.who},
                             {"what", row.what},
                             {"used", row.used},
                             {"limit", row.limit ? Json(*row.limit) : Json(nullptr)},
                             {"source", text_or_null(row.source)}});
  return to_text(out);
}

std::string to_json(const LeaseRequest& request) {
  Json out;
  out["name"] = text_or_null(request.name);
  out["count"] = request.count;
  out["holder"] = holder_json(request.holder);
  out["requirement"] = requirement_json(request.requirement);
  out["duration_ms"] = ms_or_null(request.duration);
  out["priority"] = to_string(request.priority);
  out["labels"] = labels_json(request.labels);
  out["no_wait"] = request.no_wait;
  out["host_limits"] = host_limits_json(request.host_limits);
  return to_wire_text(out);
}

std::string to_json(const LeaseChange& change) { return to_wire_text(change_json(change)); }

std::string to_json(const LeaseChange& change, std::optional<milliseconds> duration) {
  auto out = change_json(change);
  out["duration_ms"] = ms_or_null(duration);
  return to_wire_text(out);
}

std::string to_json(const LeaseChange& change, const Requirement& requirement) {
  auto out = change_json(change);
  out["requirement"] = requirement_json(requirement);
  return to_wire_text(out);
}

std::string to_json(const LeaseChange& change, const ProcessId& process) {
  auto out = change_json(change);
  out["process"] = process_json(process);
  return to_wire_text(out);
}

}  // namespace partita::api
