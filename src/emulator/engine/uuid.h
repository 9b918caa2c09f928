// UUIDs as the driver makes them: name-based, version 5, from the chip, the board's own number and, for a MIG device,
// its GPU instance id and syspipe. Source: hardware facts section 8 (the driver's gpu_uuid.c).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace partita::emulator {

using UuidBytes = std::array<std::uint8_t, 16>;

// The same GPU, GPU instance id and syspipe give the same UUID, in this boot and in any other.
UuidBytes mig_uuid(std::uint16_t chip_id, std::uint64_t pdi, std::uint32_t gpu_instance, std::uint32_t syspipe);

// "c7384736-a75d-5afc-978f-d2f1294409fd", lower case.
std::string to_text(const UuidBytes& uuid);
std::optional<UuidBytes> parse_uuid(std::string_view text);

}  // namespace partita::emulator
