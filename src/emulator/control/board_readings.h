// What boards tell of themselves through NVML beside what can be cut from them: clocks, limits, firmware, part numbers.
// data/board_readings.yaml; schema: data/schemas/board_readings.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

// One row of the table: what holds for these boards.
struct BoardReadings {
  std::vector<std::string> boards;
  std::optional<std::uint32_t> memory_bus_bits, memory_mhz, application_mhz, video_mhz, least_power_w;
  FirmwareSpec firmware;  // "" where not known
};

// Unknown keys and wrong values are `invalid`, with file, line and key.
Result<std::vector<BoardReadings>> read_board_readings(std::string_view text, const std::string& file);
// The table that the program brings.
Result<std::vector<BoardReadings>> board_readings();

// All that the table knows of a board: of its rows the first that has a key counts.
BoardReadings readings_of(const std::vector<BoardReadings>& table, std::string_view board);

}  // namespace partita::emulator
