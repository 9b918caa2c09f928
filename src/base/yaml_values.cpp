// Typed values out of a YAML tree, with errors worded alike.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/yaml.h"

namespace partita {

namespace {

std::string found(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::sequence:
      return node.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::mapping:
      return "a mapping";
    case YamlNode::Kind::scalar:
      break;
  }
  return (node.quoted ? "the text " : "") + quote(node.text);
}

std::unexpected<Error> wrong(const YamlPlace& place, const YamlNode& node, std::string_view expected) {
  return yaml_fail(place, node, fmt::format("expected {}, found {}", expected, found(node)));
}

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// "010": eight to YAML 1.1 (and to mig-parted), ten to YAML 1.2.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_plain(const YamlNode& node) { return node.kind == YamlNode::Kind::scalar && !node.quoted; }

}  // namespace

YamlPlace YamlPlace::at(std::string_view key) const {
  return {document, path.empty() ? std::string(key) : fmt::format("{}.{}", path, key)};
}

YamlPlace YamlPlace::at(std::size_t index) const { return {document, fmt::format("{}[{}]", path, index)}; }

Error yaml_error(const YamlPlace& place, const YamlNode& node, std::string_view message) {
  std::string text = fmt::format("{}:{}: ", place.document ? place.document->file : "?", node.line);
  if (!place.path.empty()) text += one_line(place.path) + ": ";
  return Error{ErrorCode::invalid, text.append(message), {}};
}

Result<void> require_keys(const YamlPlace& place, const YamlNode& node, std::span<const std::string_view> required,
                          std::span<const std::string_view> optional) {
  TRY_VOID(as_mapping(place, node));
  for (const auto& [key, value] : node.members) {
    if (contains(required, key) || contains(optional, key)) continue;
    std::vector<std::string> allowed(required.begin(), required.end());
    allowed.insert(allowed.end(), optional.begin(), optional.end());
    const std::string hint = did_you_mean(key, allowed);
    return yaml_fail(
        place, value,
        fmt::format("unknown key {}{}", quote(key), hint.empty() ? "; known are " + join(allowed, ", ") : hint));
  }
  for (const std::string_view key : required)
    if (!node.find(key)) return yaml_fail(place, node, fmt::format("key {} is missing", quote(key)));
  return {};
}

Result<void> require_version(const YamlPlace& place, const YamlNode& node, std::string_view expected) {
  const YamlNode& version = *node.find("version");
  if (version.text == expected) return {};
  return yaml_fail(place.at("version"), version, fmt::format("expected {}, found {}", expected, quote(version.text)));
}

Result<std::string> as_text(const YamlPlace& place, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::null && node.quoted) return std::string();
  if (node.kind != YamlNode::Kind::scalar) return wrong(place, node, "text");
  return node.text;
}

Result<std::int64_t> as_integer(const YamlPlace& place, const YamlNode& node, std::int64_t min, std::int64_t max) {
  const std::string expected = min == 0 && max == INT64_MAX ? std::string("a whole number, 0 or more")
                                                            : fmt::format("a whole number from {} to {}", min, max);
  std::int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  if (!is_plain(node)) return wrong(place, node, expected);
  if (has_leading_zero(node.text)) return wrong(place, node, expected + " without leading zeros");
  const auto [stop, error] = std::from_chars(node.text.data(), end, value);
  if (error != std::errc{} || stop != end || value < min || value > max) return wrong(place, node, expected);
  return value;
}

Result<double> as_number(const YamlPlace& place, const YamlNode& node) {
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  if (!is_plain(node)) return wrong(place, node, "a number");
  const auto [stop, error] = std::from_chars(node.text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return wrong(place, node, "a number");
  return value;
}

Result<bool> as_bool(const YamlPlace& place, const YamlNode& node) {
  if (is_plain(node) && (node.text == "true" || node.text == "false")) return node.text == "true";
  return wrong(place, node, "true or false");
}

Result<const std::vector<YamlNode>*> as_sequence(const YamlPlace& place, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::sequence) return wrong(place, node, "a list");
  return &node.items;
}

Result<void> as_mapping(const YamlPlace& place, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::mapping) return wrong(place, node, "a mapping");
  return {};
}

}  // namespace partita
