// The reader. A checkpoint is JSON, and so YAML: the strict reader gives it lines and limits.
#include "layout/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/attributes.h"

namespace partita::layout {

namespace {

constexpr YamlLimits kLimits{.max_bytes = 8u << 20, .max_nodes = 200'000, .max_depth = 16};

Result<int> integer(const YamlPlace& place, const YamlNode& node, std::string_view key, int min, int max) {
  return static_cast<int>(TRY(as_integer(place.at(key), *node.find(key), min, max)));
}

Result<catalog::Attributes> read_attributes(const YamlPlace& place, const YamlNode& node) {
  catalog::Attributes out;
  for (const YamlNode& item : *TRY(as_sequence(place, node))) {
    const std::string word = TRY(as_text(place, item));
    if (!catalog::set_attribute(out, word))
      return yaml_fail(place, item, fmt::format("expected me, me_all, gfx or no_me, found {}", quote(word)));
  }
  return out;
}

// Marks [start, start + size) as used; false when part of it was.
bool occupy(std::uint64_t& used, int start, int size) {
  const std::uint64_t mask = ((std::uint64_t{1} << size) - 1) << start;
  if (used & mask) return false;
  used |= mask;
  return true;
}

// The compute instances of one GPU instance.
Result<void> read_compute(const YamlPlace& place, const YamlNode& node, const catalog::Profile& profile,
                          WantedInstance& out) {
  constexpr std::string_view kKeys[] = {"profile", "nvml_profile", "compute_slices", "start"};
  std::vector<std::pair<int, int>> found;  // compute profile, start
  std::uint64_t used = 0;
  for (const YamlNode& item : *TRY(as_sequence(place, node))) {
    const YamlPlace at = place.at(found.size());
    TRY_VOID(require_keys(at, item, kKeys, {}));
    const int nvml = TRY(integer(at, item, "nvml_profile", 0, 255));
    const int slices = TRY(integer(at, item, "compute_slices", 1, 32));
    const int start = TRY(integer(at, item, "start", 0, 31));
    const auto row = std::ranges::find_if(
        profile.compute, [&](const auto& c) { return c.nvml_profile == nvml && c.compute_slices == slices; });
    if (row == profile.compute.end())
      return yaml_fail(at, item,
                       fmt::format("no compute instance of {} with profile number {} in {} on this GPU",
                                   count_of(static_cast<std::size_t>(slices), "slice"), nvml, profile.name));
    if (std::ranges::find(row->placements, start) == row->placements.end())
      return yaml_fail(at.at("start"), *item.find("start"), fmt::format("{} cannot start at {}", row->name, start));
    if (!occupy(used, start, row->placement_size))
      return yaml_fail(at, item, fmt::format("{} at {} overlaps another compute instance", row->name, start));
    found.emplace_back(static_cast<int>(row - profile.compute.begin()), start);
  }
  std::ranges::sort(found);
  out.compute_starts.emplace();
  for (const auto& [compute, start] : found) {
    out.compute.push_back(compute);
    out.compute_starts->push_back(start);
  }
  return {};
}

Result<WantedInstance> read_instance(const YamlPlace& place, const YamlNode& node, const catalog::Board& board,
                                     std::uint64_t& used) {
  constexpr std::string_view kKeys[] = {"profile", "compute_slices", "memory_slices", "attributes", "start", "compute"};
  TRY_VOID(require_keys(place, node, kKeys, {}));
  const int compute = TRY(integer(place, node, "compute_slices", 1, 32));
  const int memory = TRY(integer(place, node, "memory_slices", 1, 32));
  const auto attributes = TRY(read_attributes(place.at("attributes"), *node.find("attributes")));
  const auto profile = std::ranges::find_if(board.profiles, [&](const catalog::Profile& p) {
    return p.compute_slices == compute && p.memory_slices == memory && p.attributes == attributes;
  });
  if (profile == board.profiles.end())
    return yaml_fail(place, node,
                     fmt::format("{} has no profile of {} and {} with these attributes", board.product,
                                 count_of(static_cast<std::size_t>(compute), "compute slice"),
                                 count_of(static_cast<std::size_t>(memory), "memory slice")));
  WantedInstance out;
  out.profile = static_cast<int>(profile - board.profiles.begin());
  const int start = TRY(integer(place, node, "start", 0, 31));
  if (std::ranges::find(profile->placements, start) == profile->placements.end())
    return yaml_fail(place.at("start"), *node.find("start"),
                     fmt::format("{} cannot start at {}", profile->name, start));
  if (!occupy(used, start, profile->placement_size))
    return yaml_fail(place, node, fmt::format("{}@{} overlaps another instance", profile->name, start));
  out.start = start;
  TRY_VOID(read_compute(place.at("compute"), *node.find("compute"), *profile, out));
  return out;
}

Result<const Gpu*> find_gpu(const YamlPlace& place, const YamlNode& node, const NodeState& state) {
  const std::string uuid = TRY(as_text(place.at("uuid"), *node.find("uuid")));
  const std::string device = TRY(as_text(place.at("pci_device_id"), *node.find("pci_device_id")));
  const auto gpu = std::ranges::find(state.gpus, uuid, &Gpu::uuid);
  const auto gone = [&](std::string_view what) {
    Error error = yaml_error(place, node, what);
    error.code = ErrorCode::not_found;
    for (const Gpu& g : state.gpus) error.details.push_back(fmt::format("GPU {}: {} {}", g.index, g.product, g.uuid));
    return std::unexpected(std::move(error));
  };
  if (gpu == state.gpus.end()) return gone(fmt::format("GPU {} of the checkpoint is not on this node", quote(uuid)));
  if (const auto now = fmt::format("0x{:08X}", gpu->pci_device_id); lower(device) != lower(now))
    return gone(fmt::format("GPU {} was a board with device id {}, now it has {} ({})", uuid, quote(device), now,
                            gpu->product));
  return &*gpu;
}

Result<std::optional<GpuTarget>> read_gpu(const YamlPlace& place, const YamlNode& node, const NodeState& state,
                                          NodeTarget& out) {
  constexpr std::string_view kRequired[] = {"uuid", "index", "product", "pci_device_id"};
  constexpr std::string_view kOptional[] = {"mig_enabled", "instances", "fault"};
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  const Gpu* gpu = TRY(find_gpu(place, node, state));
  if (std::ranges::find(out.gpus, gpu->uuid, &GpuTarget::gpu) != out.gpus.end())
    return yaml_fail(place.at("uuid"), *node.find("uuid"), "this GPU is listed twice");
  if (const YamlNode* fault = node.find("fault")) {
    out.warnings.push_back(fmt::format("{}: GPU {} was {} at the checkpoint: left alone", place.document->file,
                                       gpu->index, quote(fault->text)));
    return std::nullopt;
  }
  const YamlNode* enabled = node.find("mig_enabled");
  const YamlNode* instances = node.find("instances");
  if (!enabled || !instances) return yaml_fail(place, node, "keys \"mig_enabled\" and \"instances\" are needed");
  GpuTarget target{gpu->uuid, TRY(as_bool(place.at("mig_enabled"), *enabled)), std::nullopt};
  const YamlPlace at = place.at("instances");
  const auto* items = TRY(as_sequence(at, *instances));
  if (!target.mig_enabled) {
    if (!items->empty()) return yaml_fail(at, *instances, "expected none where mig_enabled is false");
    return target;
  }
  if (!gpu->mode || !gpu->board)
    return yaml_fail(place, node, fmt::format("GPU {} ({}) has no MIG now", gpu->index, gpu->product));
  target.instances.emplace();
  std::uint64_t used = 0;
  for (const YamlNode& item : *items)
    target.instances->push_back(TRY(read_instance(at.at(target.instances->size()), item, *gpu->board, used)));
  return target;
}

}  // namespace

Result<NodeTarget> read_checkpoint(std::string_view text, const std::string& file, const NodeState& node) {
  constexpr std::string_view kKeys[] = {"version", "gpus"};
  const YamlDocument document = TRY(parse_yaml(text, file, kLimits));
  const YamlPlace root{&document, ""};
  TRY_VOID(require_keys(root, document.root, kKeys, {}));
  TRY_VOID(require_version(root, document.root, "partita-checkpoint-v1"));
  NodeTarget out;
  const YamlPlace place = root.at("gpus");
  std::size_t i = 0;
  for (const YamlNode& item : *TRY(as_sequence(place, *document.root.find("gpus"))))
    if (auto target = TRY(read_gpu(place.at(i++), item, node, out))) out.gpus.push_back(std::move(*target));
  return out;
}

}  // namespace partita::layout
