#include "emulator/engine/uuid.h"

#include <algorithm>
#include <cstddef>

#include "emulator/engine/sha1.h"

namespace partita::emulator {

namespace {

constexpr std::string_view kNamespace("\xc8\x16\xc9\xa3\x52\x24\x56\xbf\x9d\x9a\xac\x7e\xa7\x03\xfb\x5b", 16);

void append_little_endian(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool dash_at(std::size_t position) { return position == 8 || position == 13 || position == 18 || position == 23; }

}  // namespace

UuidBytes mig_uuid(std::uint16_t chip_id, std::uint64_t pdi, std::uint32_t gpu_instance, std::uint32_t syspipe) {
  std::string name(kNamespace);
  name += "NVIDIA GPU";
  name.push_back('\x02');
  append_little_endian(name, chip_id, 2);
  name.push_back('\x08');
  append_little_endian(name, pdi, 8);
  name.push_back('\x0b');
  name += "SMC";
  append_little_endian(name, gpu_instance, 4);
  append_little_endian(name, syspipe, 4);
  const auto digest = sha1(name);
  UuidBytes uuid{};
  std::copy_n(digest.begin(), uuid.size(), uuid.begin());
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x50);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string to_text(const UuidBytes& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : uuid) {
    if (dash_at(text.size())) text.push_back('-');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::optional<UuidBytes> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  UuidBytes uuid{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (dash_at(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    uuid[nibble / 2] = static_cast<std::uint8_t>(uuid[nibble / 2] << 4 | digit);
    ++nibble;
  }
  return uuid;
}

}  // namespace partita::emulator
