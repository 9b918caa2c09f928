// Leases, events and the policy from JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json_in.h"
#include "api/json_lease_in.h"
#include "api/json_read.h"
#include "api/lease_bounds.h"
#include "base/host_limits.h"

namespace partita::api {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max();

// What a request must ask for at least; an answer may tell of what an older node granted.
template <class T>
T least(const Reading& reading, T asked) {
  return reading.strictness == Strictness::request ? asked : T{};
}

DeviceNode read_device_node(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  return {in.text("path"), in.number("major", 0, kMostNumber), in.number("minor", 0, kMostNumber),
          in.flag("capability")};
}

GrantedDevice read_device(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  GrantedDevice out;
  out.uuid = in.text("uuid");
  out.index = in.text("index");
  out.cdi = in.text("cdi");
  out.profile = in.text("profile");
  out.gpu = in.text("gpu");
  out.gpu_index = in.number("gpu_index", 0, kMostNumber);
  out.pci_bus_id = in.text("pci_bus_id");
  out.board = in.text("board");
  out.start = in.maybe_number("placement_start", 0, kMostNumber);
  out.gpu_instance = in.maybe_number("gpu_instance_id", 0, kMostNumber);
  out.compute_instance = in.maybe_number("compute_instance_id", 0, kMostNumber);
  out.memory = in.bytes("memory_bytes").value_or(Bytes{});
  out.sms = in.number("sm_count", 0, kMostNumber);
  out.compute_slices = in.number("compute_slices", 0, kMostNumber);
  out.memory_slices = in.number("memory_slices", 0, kMostNumber);
  return out;
}

Grant read_grant(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  Grant out;
  out.cuda_visible_devices = in.text("cuda_visible_devices");
  in.each("devices",
          [&](const Json& item, const std::string& at) { out.devices.push_back(read_device(reading, item, at)); });
  in.each("nodes",
          [&](const Json& item, const std::string& at) { out.nodes.push_back(read_device_node(reading, item, at)); });
  return out;
}

std::map<std::string, std::string> read_labels(const Members& in) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : in.at("labels").items())
    if (value.is_string()) out[key] = value.get<std::string>();
  return out;
}

Lease read_one_lease(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  for (const auto* key : {"id", "name", "state", "holder", "requirement", "asked_at"}) in.need(key);
  Lease out;
  out.id = in.number<std::int64_t>("id", 0, kMostId);
  out.name = in.text("name");
  out.state = in.word("state", lease_state, "the lease states").value_or(LeaseState::waiting);
  out.holder = read_holder(reading, in.at("holder"), in.path_of("holder"));
  out.requirement = read_requirement(reading, in.at("requirement"), in.path_of("requirement"));
  out.priority = read_priority(in);
  out.labels = read_labels(in);
  out.asked = in.time("asked_at").value_or(Time{});
  out.granted = in.time("granted_at");
  out.expires = in.time("expires_at");
  out.ended = in.time("ended_at");
  if (in.has("grant")) out.grant = read_grant(reading, in.at("grant"), in.path_of("grant"));
  out.queue_position = in.maybe_number("queue_position", 0, kMostNumber);
  out.estimate = in.time("estimate_at");
  out.cause = in.text("cause");
  out.cause_details = in.texts("cause_details");
  out.recut = in.flag("recut");
  out.host_limits = read_host_limits(reading, in.at("host_limits"), in.path_of("host_limits"));
  return out;
}

Event read_one_event(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  for (const auto* key : {"number", "at", "kind"}) in.need(key);
  return {in.number<std::int64_t>("number", 0, kMostId), in.time("at").value_or(Time{}), in.text("kind"),
          in.text("lease"), in.text("text")};
}

QuotaRow read_quota(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  return {in.text("who"), in.text("what"), in.number<std::int64_t>("used", 0, kMostId),
          in.maybe_number<std::int64_t>("limit", 0, kMostId), in.text("source")};
}

std::optional<milliseconds> read_ms(const Members& in, std::string_view key) {
  const auto value = in.maybe_number<std::int64_t>(key, 0, kMostId);
  return value ? std::optional(milliseconds(*value)) : std::nullopt;
}

}  // namespace

ProcessId read_process(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {"pid", "start_time_ticks"});
  in.need("pid");
  in.need("start_time_ticks");
  return {in.number<pid_t>("pid", 1, kMostNumber),
          static_cast<std::uint64_t>(in.number<std::int64_t>("start_time_ticks", 0, kMostId))};
}

Holder read_holder(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {"kind", "uid", "user", "id", "process"});
  Holder out;
  out.kind = in.word("kind", holder_kind, "user, process, container, vm, pod and job").value_or(HolderKind::user);
  out.uid = static_cast<uid_t>(in.number<std::int64_t>("uid", 0, std::numeric_limits<uid_t>::max()));
  out.user = in.text("user");
  out.id = in.text("id", kLongestLabel);
  if (in.has("process")) out.process = read_process(reading, in.at("process"), in.path_of("process"));
  return out;
}

Requirement read_requirement(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path,
                   {"profile", "memory_bytes", "sm_count", "whole_gpu", "bare", "compute", "gpu", "placement_start",
                    "board", "exclusive_gpu", "same_gpu_as"});
  Requirement out;
  out.profile = in.text("profile");
  out.memory = in.bytes("memory_bytes", least(reading, Bytes{1}));
  out.sms = in.maybe_number("sm_count", least(reading, 1), kMostNumber);
  out.whole_gpu = in.flag("whole_gpu");
  out.bare = in.flag("bare");
  out.compute = in.texts("compute", kMostComputeInstances);
  out.gpu = in.maybe_text("gpu");
  out.start = in.maybe_number("placement_start", 0, kMostNumber);
  out.board = in.maybe_text("board");
  out.exclusive_gpu = in.flag("exclusive_gpu");
  out.same_gpu_as = in.maybe_text("same_gpu_as");
  return out;
}

HostLimits read_host_limits(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {"cpus", "memory_bytes"});
  HostLimits out{in.real("cpus"), in.bytes("memory_bytes", least(reading, kLeastHostMemory))};
  if (out.cpus && !(*out.cpus >= least(reading, kFewestCpus) && *out.cpus <= kMostCpus))
    in.wrong("cpus", fmt::format("a number of processors from {} to {:.0f}", kFewestCpus, kMostCpus));
  return out;
}

Priority read_priority(const Members& in) {
  return in.word(
               "priority", [](std::string_view text) { return priority(text); }, "low, normal and high")
      .value_or(Priority::normal);
}

Result<Lease> read_lease(std::string_view json) {
  return read_document(json, Strictness::answer,
                       [](const Json& document, Reading& reading) { return read_one_lease(reading, document, ""); });
}

Result<std::vector<Lease>> read_leases(std::string_view json) {
  return read_document(json, Strictness::answer, [](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {});
    in.need("leases");
    std::vector<Lease> out;
    in.each("leases",
            [&](const Json& item, const std::string& at) { out.push_back(read_one_lease(reading, item, at)); });
    return out;
  });
}

Result<Event> read_event(std::string_view json) {
  return read_document(json, Strictness::answer,
                       [](const Json& document, Reading& reading) { return read_one_event(reading, document, ""); });
}

Result<std::vector<Event>> read_events(std::string_view json) {
  return read_document(json, Strictness::answer, [](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {});
    in.need("events");
    std::vector<Event> out;
    in.each("events",
            [&](const Json& item, const std::string& at) { out.push_back(read_one_event(reading, item, at)); });
    return out;
  });
}

Result<PolicyAnswer> read_policy_answer(std::string_view json) {
  return read_document(json, Strictness::answer, [](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {});
    in.need("quotas");
    PolicyAnswer out;
    out.file = in.text("file");
    out.default_duration = read_ms(in, "default_duration_ms");
    out.longest_duration = read_ms(in, "longest_duration_ms");
    in.each("quotas",
            [&](const Json& item, const std::string& at) { out.quotas.push_back(read_quota(reading, item, at)); });
    return out;
  });
}

}  // namespace partita::api
