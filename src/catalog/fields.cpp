#include "catalog/fields.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace partita::catalog {

std::unexpected<Error> Fields::error(std::string_view key, std::string_view message) const {
  const YamlNode* node = find(key);
  return yaml_fail(place_.at(key), node ? *node : *node_, message);
}

Result<std::string> Fields::text(std::string_view key) const {
  std::string out = TRY(text_or(key, ""));
  if (out.empty()) return error(key, "expected text, found nothing");
  return out;
}

Result<std::string> Fields::text_or(std::string_view key, std::string_view otherwise) const {
  const YamlNode* node = find(key);
  if (!node) return std::string(otherwise);
  return as_text(place_.at(key), *node);
}

Result<int> Fields::integer(std::string_view key, int min, int max) const {
  const auto value = TRY(maybe_integer(key, min, max));
  if (!value) return error(key, fmt::format("expected a whole number from {} to {}, found nothing", min, max));
  return *value;
}

Result<std::optional<int>> Fields::maybe_integer(std::string_view key, int min, int max) const {
  const YamlNode* node = find(key);
  if (!node) return std::nullopt;
  return static_cast<int>(TRY(as_integer(place_.at(key), *node, min, max)));
}

Result<std::optional<double>> Fields::maybe_number(std::string_view key) const {
  const YamlNode* node = find(key);
  if (!node) return std::nullopt;
  const double value = TRY(as_number(place_.at(key), *node));
  if (value <= 0) return error(key, fmt::format("expected a number above 0, found {}", value));
  return value;
}

Result<std::optional<Bytes>> Fields::maybe_mib(std::string_view key) const {
  constexpr int kMost = 1 << 30;
  const auto value = TRY(maybe_integer(key, 1, kMost));
  if (!value) return std::nullopt;
  return mib(static_cast<std::uint64_t>(*value));
}

Result<bool> Fields::flag(std::string_view key, bool otherwise) const {
  const YamlNode* node = find(key);
  if (!node) return otherwise;
  return as_bool(place_.at(key), *node);
}

Result<std::vector<int>> Fields::integers(std::string_view key, int min, int max) const {
  std::vector<int> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  const YamlPlace place = place_.at(key);
  for (const YamlNode& item : *TRY(as_sequence(place, *node)))
    out.push_back(static_cast<int>(TRY(as_integer(place.at(out.size()), item, min, max))));
  return out;
}

Result<std::vector<std::string>> Fields::texts(std::string_view key) const {
  std::vector<std::string> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  const YamlPlace place = place_.at(key);
  for (const YamlNode& item : *TRY(as_sequence(place, *node))) out.push_back(TRY(as_text(place.at(out.size()), item)));
  return out;
}

Result<void> Fields::numbers(std::string_view key) const {
  const YamlNode* node = find(key);
  if (!node) return {};
  const YamlPlace place = place_.at(key);
  for (const YamlNode& item : *TRY(as_sequence(place, *node)))
    if (auto value = as_number(place, item); !value) return std::unexpected(std::move(value).error());
  return {};
}

Result<std::optional<Fields>> Fields::child(std::string_view key, Keys required, Keys optional) const {
  const YamlNode* node = find(key);
  if (!node) return std::nullopt;
  Fields out(place_.at(key), *node);
  TRY_VOID(out.only(required, optional));
  return out;
}

Result<std::vector<Fields>> Fields::rows(std::string_view key, Keys required, Keys optional) const {
  std::vector<Fields> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  const YamlPlace place = place_.at(key);
  for (const YamlNode& item : *TRY(as_sequence(place, *node))) {
    out.emplace_back(place.at(out.size()), item);
    TRY_VOID(out.back().only(required, optional));
  }
  return out;
}

Result<std::vector<std::uint16_t>> read_pci_devices(const Fields& fields) {
  std::vector<std::uint16_t> out;
  for (const std::string& text : TRY(fields.texts("pci_devices"))) {
    std::uint16_t value = 0;
    const char* end = text.data() + text.size();
    if (text.size() != 6 || !text.starts_with("0x") || std::from_chars(text.data() + 2, end, value, 16).ptr != end)
      return fields.error("pci_devices", fmt::format("expected device ids such as \"0x20B0\", found {}", quote(text)));
    out.push_back(value);
  }
  if (out.empty()) return fields.error("pci_devices", "expected at least one device id");
  return out;
}

}  // namespace partita::catalog
