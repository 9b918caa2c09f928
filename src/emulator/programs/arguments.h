// The command line of nvidia-smi, as far as the stand-in takes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita::emulator::programs {

enum class Action {
  overview,  // the table
  help,
  version,
  list,         // -L
  query,        // -q
  query_gpu,    // --query-gpu
  query_apps,   // --query-compute-apps
  mig_mode,     // -mig
  persistence,  // -pm
  reset,        // -r
  mig_help,
  gpu_profiles,        // mig -lgip
  gpu_placements,      // mig -lgipp
  gpu_instances,       // mig -lgi
  create_gpu,          // mig -cgi
  destroy_gpu,         // mig -dgi
  compute_profiles,    // mig -lcip
  compute_placements,  // mig -lcipp
  compute_instances,   // mig -lci
  create_compute,      // mig -cci
  destroy_compute,     // mig -dci
};

struct Arguments {
  Action action = Action::overview;
  std::vector<std::string> gpus;                      // -i: index, UUID, serial or bus id; none: all
  std::vector<std::string> values;                    // of the action: profiles, fields, 0 or 1
  std::vector<int> gpu_instances, compute_instances;  // -gi, -ci
  bool default_compute = false;                       // -C
  bool xml = false;                                   // -x
  bool header = true, units = true;                   // csv,noheader,nounits
  std::vector<std::string> sections;                  // -d MEMORY,...: tags of the parts that are shown; none: all
  std::optional<std::string> file;                    // -f
};

// `invalid` with nvidia-smi's words where they are known.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

// What --help and mig --help print.
std::string_view help_text();
std::string_view mig_help_text();

}  // namespace partita::emulator::programs
