// Trees and tables as nvidia-smi writes them.
#pragma once

#include <span>
#include <string>

#include "emulator/programs/arguments.h"
#include "emulator/programs/reading.h"

namespace partita::emulator::programs {

// Now, in local time: "Mon Nov 30 12:00:00 2026", or as strftime's `format` has it.
std::string time_stamp(const char* format = "%a %b %e %H:%M:%S %Y");
// "12.4", or "Not Found".
std::string cuda_version();

// What stands above the GPUs of -q: time, driver, CUDA, number of GPUs.
std::vector<Field> read_system(std::size_t gpus);

std::string draw_xml(const std::vector<Field>& system, std::span<const Field> gpus, std::span<const Gpu> devices);
std::string draw_text(const std::vector<Field>& system, std::span<const Field> gpus);

// Comma separated values. A field that is not known is `not_found`.
Result<std::string> draw_gpu_values(std::span<const Gpu> gpus, const Arguments& arguments);
Result<std::string> draw_app_values(std::span<const Gpu> gpus, const Arguments& arguments);

// -L
std::string draw_list(std::span<const Gpu> gpus);
// No options.
std::string draw_overview(std::span<const Gpu> gpus);

}  // namespace partita::emulator::programs
