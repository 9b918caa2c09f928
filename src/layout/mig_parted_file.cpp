// The reader: YAML or JSON text to labels and entries, with nothing taken on trust.
#include "layout/mig_parted_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/yaml.h"
#include "layout/profile_name.h"

namespace partita::layout {

namespace {

constexpr YamlLimits kLimits{.max_bytes = 32u << 20, .max_nodes = 1'000'000, .max_depth = 16};
constexpr int kHighestIndex = 1023;
constexpr int kHighestCount = 1000;
constexpr std::uint32_t kNvidia = 0x10DE;

// "0x" and exactly 8 hexadecimal digits.
std::optional<std::uint32_t> hexadecimal(std::string_view text) {
  constexpr std::size_t kDigits = 8;
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != kDigits || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<DeviceFilter> read_filter(const YamlPlace& place, const YamlNode& node) {
  DeviceFilter filter;
  filter.text = TRY(as_text(place, node));
  const auto colon = filter.text.find(':');
  const auto device = hexadecimal(std::string_view(filter.text).substr(0, colon));
  if (colon != std::string::npos) filter.subsystem = hexadecimal(std::string_view(filter.text).substr(colon + 1));
  if (!device || (colon != std::string::npos && !filter.subsystem))
    return yaml_fail(place, node,
                     fmt::format("expected a device id and vendor such as \"0x20B010DE\", or with the subsystem "
                                 "\"0x20B010DE:0x134F10DE\", found {}",
                                 quote(filter.text)));
  filter.device = *device;
  if ((filter.device & 0xFFFF) != kNvidia)
    return yaml_fail(
        place, node,
        fmt::format("expected NVIDIA's vendor id 10DE in the last four digits, found {}", quote(filter.text)));
  return filter;
}

Result<std::vector<DeviceFilter>> read_filters(const YamlPlace& place, const YamlNode& node) {
  std::vector<DeviceFilter> filters;
  if (node.kind != YamlNode::Kind::sequence) {
    filters.push_back(TRY(read_filter(place, node)));
    return filters;
  }
  for (const YamlNode& item : node.items) filters.push_back(TRY(read_filter(place.at(filters.size()), item)));
  return filters;
}

Result<std::optional<std::vector<int>>> read_devices(const YamlPlace& place, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::scalar && node.text == "all") return std::nullopt;
  if (node.kind != YamlNode::Kind::sequence || node.items.empty())
    return yaml_fail(place, node, "expected all or a list of GPU indices such as [0, 1]");
  std::vector<int> indices;
  for (const YamlNode& item : node.items) {
    const YamlPlace at = place.at(indices.size());
    const int index = static_cast<int>(TRY(as_integer(at, item, 0, kHighestIndex)));
    if (std::ranges::find(indices, index) != indices.end())
      return yaml_fail(at, item, fmt::format("GPU {} is listed twice", index));
    indices.push_back(index);
  }
  return indices;
}

// Profile -> count; zeros are dropped, but not all may be zero.
Result<std::vector<std::pair<std::string, int>>> read_mig_devices(const YamlPlace& place, const YamlNode& node) {
  TRY_VOID(as_mapping(place, node));
  std::vector<std::pair<std::string, int>> out;
  std::vector<ProfileName> names;
  for (const auto& [key, value] : node.members) {
    const YamlPlace at = place.at(key);
    const auto name = parse_profile_name(key);
    if (!name) return yaml_fail(at, value, name.error().message);
    if (const auto same = std::ranges::find(names, *name); same != names.end())
      return yaml_fail(at, value,
                       fmt::format("is the same profile as {}",
                                   quote(node.members[static_cast<std::size_t>(same - names.begin())].first)));
    names.push_back(*name);
    const int count = static_cast<int>(TRY(as_integer(at, value, 0, kHighestCount)));
    if (count > 0) out.emplace_back(key, count);
  }
  if (out.empty() && !node.members.empty())
    return yaml_fail(place, node, "all counts are 0; write {} for MIG mode without instances");
  return out;
}

Result<MigPartedEntry> read_entry(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kRequired[] = {"devices", "mig-enabled"};
  constexpr std::string_view kOptional[] = {"device-filter", "mig-devices"};
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  MigPartedEntry entry;
  entry.line = node.line;
  entry.devices = TRY(read_devices(place.at("devices"), *node.find("devices")));
  if (const YamlNode* filter = node.find("device-filter"))
    entry.filters = TRY(read_filters(place.at("device-filter"), *filter));
  entry.mig_enabled = TRY(as_bool(place.at("mig-enabled"), *node.find("mig-enabled")));
  const YamlNode* devices = node.find("mig-devices");
  if (devices && (entry.mig_enabled || devices->kind != YamlNode::Kind::null))
    entry.mig_devices = TRY(read_mig_devices(place.at("mig-devices"), *devices));
  if (entry.mig_enabled && !entry.mig_devices)
    return yaml_fail(place, node,
                     "key \"mig-devices\" is missing; write mig-devices: {} for MIG mode without instances");
  if (!entry.mig_enabled && entry.mig_devices && !entry.mig_devices->empty())
    return yaml_fail(place.at("mig-devices"), *devices, "expected none where mig-enabled is false");
  return entry;
}

Result<MigPartedLabel> read_label(const YamlPlace& place, const std::string& name, const YamlNode& node) {
  if (name.empty()) return yaml_fail(place, node, "a label must not be empty");
  MigPartedLabel label{name, {}, node.line};
  const auto* entries = TRY(as_sequence(place, node));
  if (entries->empty()) return yaml_fail(place, node, "expected at least one entry");
  label.entries.reserve(entries->size());
  for (const YamlNode& entry : *entries)
    label.entries.push_back(TRY(read_entry(place.at(label.entries.size()), entry)));
  return label;
}

}  // namespace

Result<const MigPartedLabel*> MigPartedFile::label(std::string_view name) const {
  std::vector<std::string> names;
  for (const MigPartedLabel& label : labels) {
    if (label.name == name) return &label;
    names.push_back(label.name);
  }
  constexpr std::size_t kMostShown = 20;
  std::string message = fmt::format("{}: no label {}", file, quote(name)) + did_you_mean(name, names);
  if (names.size() <= kMostShown)
    message += (message.ends_with("?") ? " (labels: " : "; labels: ") + join(names, ", ") +
               (message.ends_with("?") ? ")" : "");
  return fail(ErrorCode::not_found, std::move(message));
}

Result<MigPartedFile> read_mig_parted(std::string_view text, const std::string& file) {
  constexpr std::string_view kKeys[] = {"version", "mig-configs"};
  const YamlDocument document = TRY(parse_yaml(text, file, kLimits));
  const YamlPlace root{&document, ""};
  TRY_VOID(require_keys(root, document.root, kKeys, {}));
  TRY_VOID(require_version(root, document.root, "v1"));
  const YamlNode& configs = *document.root.find("mig-configs");
  const YamlPlace place = root.at("mig-configs");
  TRY_VOID(as_mapping(place, configs));
  if (configs.members.empty()) return yaml_fail(place, configs, "expected at least one label");
  MigPartedFile out{file, {}};
  out.labels.reserve(configs.members.size());
  for (const auto& [name, node] : configs.members) out.labels.push_back(TRY(read_label(place.at(name), name, node)));
  return out;
}

}  // namespace partita::layout
