// Files that plan --fleet writes: all of them, or none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/parse.h"
#include "fleet/files/fleet_file.h"

namespace partita::cli {

// --output-dir and --report name what can be written, and each group of nodes gets a file of its own. Writes nothing.
Result<void> check_targets(const Parsed& parsed, const fleet::FleetFile& fleet);

// "a/b": "a_b.yaml".
std::string mig_parted_name(const std::string& group);

struct OutputFile {
  std::filesystem::path path;
  std::string text;
};
struct OutputFiles {
  std::optional<std::string> folder;  // made if it is absent
  std::vector<OutputFile> files;
};
// An error leaves no new file, no new folder, and files that were there as they were.
Result<void> write_together(const OutputFiles& out);

}  // namespace partita::cli
