// A process that makes, destroys, holds and looks without pause, as an NVML client.
#pragma once

#include <cstdint>
#include <filesystem>

namespace partita::torture {

// Never returns: runs until it is killed, or writes what it found wrong to `report` and exits with 1.
[[noreturn]] void work(const std::filesystem::path& node, std::uint64_t seed, int report);

}  // namespace partita::torture
