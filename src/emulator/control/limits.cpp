#include "emulator/control/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "catalog/embedded.h"
#include "emulator/control/board_readings.h"

namespace partita::emulator {

namespace {

std::uint32_t idle_clock(const catalog::Board& board) {
  if (board.family == "ampere") return 210;
  return board.family == "hopper" ? 345 : 120;
}

// The board whose times are taken.
std::string_view measured_board(const catalog::Board& board) {
  if (board.compute_slices <= 4) return "A30";
  return board.chip.starts_with("GA100") ? "A100" : "H100";
}

std::uint32_t to_ms(std::optional<double> seconds) {
  return static_cast<std::uint32_t>(std::lround(std::max(0.0, seconds.value_or(0)) * 1000));
}

}  // namespace

Result<void> set_power_and_clocks(GpuSpec& gpu, const catalog::Board& board) {
  const catalog::Specs& specs = board.specs;
  BoardReadings known = readings_of(TRY(board_readings()), board.id);
  if (specs.tdp_w) gpu.power_limit_mw = static_cast<std::uint32_t>(*specs.tdp_w) * 1000;
  if (specs.boost_mhz) gpu.boost_clock_mhz = static_cast<std::uint32_t>(*specs.boost_mhz);
  gpu.idle_clock_mhz = std::min(idle_clock(board), gpu.boost_clock_mhz);
  gpu.least_power_mw = known.least_power_w.value_or(0) * 1000;
  gpu.application_clock_mhz = known.application_mhz.value_or(0);
  gpu.video_clock_mhz = known.video_mhz.value_or(0);
  gpu.memory_bus_bits = known.memory_bus_bits.value_or(0);
  if (known.memory_mhz) {
    gpu.memory_clock_mhz = *known.memory_mhz;
  } else if (specs.memory_bandwidth_gb_per_s && gpu.memory_bus_bits != 0) {
    const double bytes_per_clock = 2.0 * gpu.memory_bus_bits / 8;
    gpu.memory_clock_mhz =
        static_cast<std::uint32_t>(std::lround(*specs.memory_bandwidth_gb_per_s * 1000 / bytes_per_clock));
  }
  gpu.firmware = std::move(known.firmware);
  return {};
}

Result<void> set_measured_times(GpuSpec& gpu, const catalog::Board& board) {
  const std::string file = "measured/mig_reconfig_times.csv";
  const auto text = catalog::embedded_file(file);
  if (!text) return fail(ErrorCode::internal, file + " is not in the program");
  const CsvTable table = TRY(parse_csv(*text, file));
  const std::size_t name = TRY(table.require("gpu")), slices = TRY(table.require("gpc_slices"));
  const std::size_t create = TRY(table.require("create_s")), destroy = TRY(table.require("destroy_s"));
  for (ProfileSpec& profile : gpu.profiles) {
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (table.rows[row][name] != measured_board(board)) continue;
      if (TRY(table.number(row, slices)) != profile.compute_slices) continue;
      profile.create_ms = to_ms(TRY(table.number(row, create)));
      profile.destroy_ms = to_ms(TRY(table.number(row, destroy)));
    }
  }
  return {};
}

}  // namespace partita::emulator
