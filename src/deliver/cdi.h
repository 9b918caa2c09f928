// CDI specifications: what container runtimes read to give a container a partition. One file per lease, and one for all
// MIG devices when asked. The lowest cdiVersion that the edits need, because older runtimes refuse newer ones.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace partita::deliver {

struct CdiNode {
  std::string path;       // in the container: "/dev/nvidia0"
  std::string host_path;  // "" when the same
  std::string permissions = "rw";
};
struct CdiDevice {
  std::vector<std::string> names;  // "0:1", "MIG-...", lease name: one device each, same edits
  std::vector<CdiNode> nodes;
  std::vector<std::pair<std::string, std::string>> envs;
};

inline constexpr std::string_view kCdiKind = "nvidia.com/gpu";

// Letters, digits and "_-.:", the first and the last a letter or digit. A lease's name may break the latter.
bool is_cdi_device_name(std::string_view name);

// The specification as JSON; devices in the given order. A name that CDI does not allow, or that came already, is left
// out: one such name would void the whole file. Two files of one folder that name the same device void it for both, so
// a MIG device belongs either to its lease's file or to the one for all.
std::string cdi_specification(std::span<const CdiDevice> devices);
// Atomic: readers see the old file or the new one. Not synced to disk: recovery writes all files anew. `stem` is the
// lease's name; the file is partita-STEM.json; the folder is made if absent.
Result<void> write_cdi(const std::filesystem::path& folder, std::string_view stem, std::string_view text);
Result<void> remove_cdi(const std::filesystem::path& folder, std::string_view stem);
// Stems of the files of ours that are there, for recovery.
std::vector<std::string> list_cdi(const std::filesystem::path& folder);

}  // namespace partita::deliver
