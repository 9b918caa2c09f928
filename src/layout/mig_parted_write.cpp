// The writer, and the two files that are made from a node: what it is (describe) and what it could be (generate).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_to_yaml.h"
#include "layout/mig_parted_file.h"

namespace partita::layout {

namespace {

using Json = nlohmann::ordered_json;
using Counts = std::vector<std::pair<std::string, int>>;

Json entry_json(const MigPartedEntry& entry) {
  Json out;
  if (entry.filters.size() == 1) out["device-filter"] = entry.filters[0].text;
  if (entry.filters.size() > 1)
    for (const DeviceFilter& filter : entry.filters) out["device-filter"].push_back(filter.text);
  if (entry.devices)
    out["devices"] = *entry.devices;
  else
    out["devices"] = "all";
  out["mig-enabled"] = entry.mig_enabled;
  if (entry.mig_devices) {
    Json devices = Json::object();
    for (const auto& [name, count] : *entry.mig_devices) devices[name] = count;
    out["mig-devices"] = std::move(devices);
  }
  return out;
}

}  // namespace

std::string write_mig_parted_json(const MigPartedFile& file) {
  Json out;
  out["version"] = "v1";
  out["mig-configs"] = Json::object();
  for (const MigPartedLabel& label : file.labels) {
    Json entries = Json::array();
    for (const MigPartedEntry& entry : label.entries) entries.push_back(entry_json(entry));
    out["mig-configs"][label.name] = std::move(entries);
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_mig_parted(const MigPartedFile& file) {
  std::string json = write_mig_parted_json(file);
  return json_to_yaml(json).value_or(json);  // JSON is YAML, too
}

namespace {

// Counts per name; MIG devices only: a GPU instance without compute instances has no place in this format.
Counts counts_of(const Gpu& gpu) {
  Counts out;
  for (const GpuInstance& instance : gpu.instances) {
    const auto& profile = gpu.board->profiles[static_cast<std::size_t>(instance.profile)];
    for (const ComputeInstance& compute : instance.compute) {
      const std::string& name = profile.compute[static_cast<std::size_t>(compute.profile)].name;
      const auto known = std::ranges::find(out, name, &Counts::value_type::first);
      if (known == out.end())
        out.emplace_back(name, 1);
      else
        ++known->second;
    }
  }
  std::ranges::sort(out);
  return out;
}

MigPartedEntry entry_of(const Gpu& gpu) {
  MigPartedEntry entry;
  entry.devices = std::vector<int>{gpu.index};
  entry.mig_enabled = gpu.mode && gpu.mode->current;
  if (entry.mig_enabled) entry.mig_devices = gpu.board ? counts_of(gpu) : Counts{};
  return entry;
}

}  // namespace

MigPartedFile describe(const NodeState& node, const std::string& label) {
  MigPartedLabel out{label, {}, 0};
  for (const Gpu& gpu : node.gpus) {
    if (gpu.fault) continue;  // its state is not known
    MigPartedEntry entry = entry_of(gpu);
    const auto same = std::ranges::find_if(out.entries, [&](const MigPartedEntry& other) {
      return other.mig_enabled == entry.mig_enabled && other.mig_devices == entry.mig_devices;
    });
    if (same == out.entries.end()) {
      out.entries.push_back(std::move(entry));
    } else if (auto& devices = same->devices) {
      devices->push_back(gpu.index);
    }
  }
  if (out.entries.size() == 1) {
    auto& devices = out.entries[0].devices;
    if (devices && devices->size() == node.gpus.size()) devices.reset();  // all
  }
  return {"", {std::move(out)}};
}

}  // namespace partita::layout
