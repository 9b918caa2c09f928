// What drivers of other branches than the catalog's show of a board: spelling and memory of profiles, profiles that
// they do not have yet, the GPU's memory. data/driver_names.yaml; schema: data/schemas/driver_names.schema.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace partita::emulator {

struct DriverProfile {
  std::string name;  // the catalog's
  std::optional<std::string> spelling;
  std::optional<Bytes> memory;
  bool absent = false;
};

// Holds for these boards under drivers `since` <= branch < `before`.
struct DriverNames {
  std::vector<std::string> boards;
  std::optional<int> since, before;
  std::optional<Bytes> total_memory;
  std::vector<DriverProfile> profiles;
  std::string source, confidence;

  bool holds(std::string_view board, int branch) const;
};

// Unknown keys and wrong values are `invalid`, with file, line and key.
Result<std::vector<DriverNames>> read_driver_names(std::string_view text, const std::string& file);
// The table that the program brings.
Result<std::vector<DriverNames>> driver_names();

// Of "550.90.07": 550.
int driver_branch(std::string_view version);

}  // namespace partita::emulator
