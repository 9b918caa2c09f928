// What the law of behaviour (emulator/engine/behaviour.h) needs to know of a board: power, clocks, times.
#pragma once

#include "base/error.h"
#include "catalog/board.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

// Power limit and boost clock as the catalog has them, the rest as board_readings.h does. Idle clocks are assumed by
// the chip's generation; a memory clock that nobody saw follows from the bandwidth and the width of the memory bus (two
// transfers a clock). What is not known stays at the spec's defaults.
Result<void> set_power_and_clocks(GpuSpec& gpu, const catalog::Board& board);

// Times to make and destroy instances, from data/measured/mig_reconfig_times.csv by compute slices. Measured are A30,
// A100 and H100: other boards of four slices or fewer get A30's, others of seven H100's.
Result<void> set_measured_times(GpuSpec& gpu, const catalog::Board& board);

}  // namespace partita::emulator
