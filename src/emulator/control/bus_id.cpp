#include "emulator/control/bus_id.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace partita::emulator {

namespace {

std::optional<std::uint32_t> hex(std::string_view text, std::size_t most_digits) {
  std::uint32_t value = 0;
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> normal_bus_id(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  const std::optional<std::uint32_t> domain = parts.size() == 3 ? hex(parts[0], 8) : 0U;
  const std::optional<std::uint32_t> bus = hex(parts[parts.size() - 2], 2);
  const std::vector<std::string> place = split(parts.back(), '.');
  if (place.size() != 2) return std::nullopt;
  const std::optional<std::uint32_t> device = hex(place[0], 2), function = hex(place[1], 1);
  if (!domain || !bus || !device || !function || *device > 31 || *function > 7) return std::nullopt;
  return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", *domain, *bus, *device, *function);
}

}  // namespace partita::emulator
