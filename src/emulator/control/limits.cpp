#include "emulator/control/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "catalog/embedded.h"

namespace partita::emulator {

namespace {

// Bits of the memory bus (NVIDIA's data sheets): 1024 for each stack of HBM.
int bus_bits(const catalog::Board& board) {
  if (board.chip.starts_with("GA100")) return board.nominal_gb.value_or(40) <= 24 ? 3072 : 5120;
  if (board.chip.starts_with("GH100")) return board.nominal_gb.value_or(80) <= 80 ? 5120 : 6144;
  if (board.chip.starts_with("GB10") || board.chip.starts_with("GB11")) return 8192;
  return board.chip.starts_with("GB202") ? 512 : 256;
}

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

void set_power_and_clocks(GpuSpec& gpu, const catalog::Board& board) {
  const catalog::Specs& specs = board.specs;
  if (specs.tdp_w) gpu.power_limit_mw = static_cast<std::uint32_t>(*specs.tdp_w) * 1000;
  if (specs.boost_mhz) gpu.boost_clock_mhz = static_cast<std::uint32_t>(*specs.boost_mhz);
  gpu.idle_clock_mhz = std::min(idle_clock(board), gpu.boost_clock_mhz);
  if (specs.memory_bandwidth_gb_per_s) {
    const double bytes_per_clock = 2.0 * bus_bits(board) / 8;
    gpu.memory_clock_mhz =
        static_cast<std::uint32_t>(std::lround(*specs.memory_bandwidth_gb_per_s * 1000 / bytes_per_clock));
  }
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
