// Node file + catalog -> what the engine emulates.
#pragma once

#include <string>

#include "base/error.h"
#include "catalog/catalog.h"
#include "emulator/control/node_file.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

// What the file's driver shows otherwise than the catalog (driver_names.h) is taken over; keys of the file go before.
// What the facts do not tell is filled in, so that clients always see a complete device:
//  - memory of a profile: its memory slices' share of the GPU's memory, rounded down to 128 MiB;
//  - memory of a GPU with MIG: the GB in the name of the profile that takes all of it, else the board's nominal GB;
//  - profile ids: 100 + NVML profile number; SMs: the catalog's estimate;
//  - BAR1: the next power of two above the GPU's memory; bus ids: 07, 0F, 17, ...
// `name` decides UUIDs and serials. Unknown boards and profiles, drivers older than a board needs, and settings that a
// board cannot have are `invalid` or `not_found`, with file, line and key.
Result<NodeSpec> compile(catalog::Catalog& catalog, const NodeFile& file, const std::string& name,
                         const std::string& type);

}  // namespace partita::emulator
