#include "emulator/engine/pci_address.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/text.h"

namespace partita::emulator {

namespace {

bool take_hex(std::string_view text, std::size_t most_digits, unsigned limit, unsigned& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return !text.empty() && text.size() <= most_digits && result.ec == std::errc{} &&
         result.ptr == text.data() + text.size() && value <= limit;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress address;
  if (const auto dot = text.rfind('.'); dot != std::string_view::npos) {
    if (!take_hex(text.substr(dot + 1), 1, 7, address.function)) return std::nullopt;
    text = text.substr(0, dot);
  }
  const auto last = text.rfind(':');
  if (last == std::string_view::npos || !take_hex(text.substr(last + 1), 2, 31, address.device)) return std::nullopt;
  text = text.substr(0, last);
  if (const auto first = text.find(':'); first != std::string_view::npos) {
    if (!take_hex(text.substr(0, first), 8, 0xffffffff, address.domain)) return std::nullopt;
    text = text.substr(first + 1);
  }
  if (!take_hex(text, 2, 255, address.bus)) return std::nullopt;
  return address;
}

std::string to_text(const PciAddress& a) {
  char text[32];
  std::snprintf(text, sizeof text, "%08X:%02X:%02X.%X", a.domain, a.bus & 0xff, a.device & 0x1f, a.function & 7);
  return text;
}

std::string kernel_bus_id(std::string_view driver_spelling) {
  constexpr std::size_t kLength = 12;
  return lower(driver_spelling.substr(driver_spelling.size() - std::min(kLength, driver_spelling.size())));
}

}  // namespace partita::emulator
