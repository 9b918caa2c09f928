// NVIDIA mig-parted's layout file, `version: v1`, read strictly (unknown keys are errors), and its hooks file.
// Text in, struct out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"

namespace partita::layout {

struct DeviceFilter {
  std::uint32_t device = 0;                // 0xDDDDVVVV
  std::optional<std::uint32_t> subsystem;  // 0xSSSSVVVV
  std::string text;                        // as written
};

struct MigPartedEntry {
  std::optional<std::vector<int>> devices;  // NVML indices; nullopt = all
  std::vector<DeviceFilter> filters;        // empty = any board
  bool mig_enabled = false;
  // Profile name (as written) -> count > 0, in file order. nullopt: key absent (allowed only when disabled).
  std::optional<std::vector<std::pair<std::string, int>>> mig_devices;
  int line = 0;
};

struct MigPartedLabel {
  std::string name;
  std::vector<MigPartedEntry> entries;
  int line = 0;
};

struct MigPartedFile {
  std::string file;
  std::vector<MigPartedLabel> labels;  // in file order
  // `not_found` with the nearest labels.
  Result<const MigPartedLabel*> label(std::string_view name) const;
};

Result<MigPartedFile> read_mig_parted(std::string_view text, const std::string& file);
std::string write_mig_parted(const MigPartedFile& file);  // YAML
std::string write_mig_parted_json(const MigPartedFile& file);

struct Hook {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> envs;
  std::string workdir;
};
struct HooksFile {  // keys: apply-start, pre-apply-mode, pre-apply-config, apply-exit
  std::vector<Hook> apply_start, pre_apply_mode, pre_apply_config, apply_exit;
};
Result<HooksFile> read_hooks(std::string_view text, const std::string& file);

// What a GPU shall look like.
struct WantedInstance {
  int profile = 0;           // index in Board::profiles
  std::optional<int> start;  // nullopt: Partita chooses
  std::vector<int> compute;  // indices in Profile::compute, ascending; empty = a bare GPU instance
  std::optional<std::vector<int>> compute_starts;  // parallel to compute; nullopt: Partita chooses
};
struct GpuTarget {
  std::string gpu;  // UUID
  bool mig_enabled = false;
  std::optional<std::vector<WantedInstance>> instances;  // nullopt: only the mode is asked
};
struct NodeTarget {
  std::vector<GpuTarget> gpus;        // only GPUs that the request mentions
  std::vector<std::string> warnings;  // names spelled otherwise by this driver, entries that matched nothing
};

// Which GPU gets what. A later entry may not contradict an earlier one for the same GPU (`invalid`). Consecutive
// compute instances of one GPU instance profile ("1c.3g.20gb": 4) fill one GPU instance after another, as mig-parted
// does. Nothing matched, unknown profile, index out of range, too many instances: an error that lists the node's GPUs
// with their device ids. GPUs are matched by index and filter.
Result<NodeTarget> resolve(const MigPartedLabel& label, const NodeState& node, const std::string& file);

// The node as a file with one label, GPUs with equal content joined; counts only (placements are not in this format).
MigPartedFile describe(const NodeState& node, const std::string& label);

// all-disabled, all-enabled, all-<profile>, all-balanced (7-slice boards: 2x1g, 1x2g, 1x3g; 4-slice: 2x1g, 1x2g) for
// the boards of the node; entries carry device filters where boards differ.
MigPartedFile generate(const NodeState& node);

}  // namespace partita::layout
