#include "emulator/control/identity.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace partita::emulator {

namespace {

// FNV-1a, then the finalizer of splitmix64, so that near names give far numbers.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
  return h ^ (h >> 31);
}

std::uint64_t hash(std::string_view node, int index, std::string_view what) {
  return hash(fmt::format("partita {} {} {}", what, index, node));
}

}  // namespace

Identity identity(std::string_view node, int index) {
  const std::uint64_t high = (hash(node, index, "uuid-high") & ~0xf000ULL) | 0x4000U;
  const std::uint64_t low = (hash(node, index, "uuid-low") & ~(3ULL << 62)) | (2ULL << 62);
  Identity who;
  who.uuid = fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff,
                         low >> 48, low & 0xffff'ffff'ffffULL);
  who.pdi = hash(node, index, "pdi");
  who.serial = fmt::format("165{:010d}", hash(node, index, "serial") % 10'000'000'000ULL);
  return who;
}

std::uint16_t chip_id(std::string_view chip) {
  // NV_PMC_BOOT_42 of NVIDIA's open kernel modules; implementation numbers of GB110 and GB20B are assumed.
  static constexpr std::array<std::pair<std::string_view, std::uint16_t>, 8> kChips = {{{"GA100", 0x170},
                                                                                        {"GH100", 0x180},
                                                                                        {"GB100", 0x1A0},
                                                                                        {"GB102", 0x1A2},
                                                                                        {"GB110", 0x1A3},
                                                                                        {"GB202", 0x1B2},
                                                                                        {"GB203", 0x1B3},
                                                                                        {"GB20B", 0x1BB}}};
  for (const auto& [name, id] : kChips)
    if (chip.starts_with(name)) return id;
  return 0;
}

}  // namespace partita::emulator
