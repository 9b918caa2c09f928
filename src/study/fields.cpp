#include "study/fields.h"

#include <fmt/format.h>

namespace partita::study {

Result<void> Fields::only(Keys required, Keys optional) const {
  return require_keys(place_, *node_, {required.begin(), required.size()}, {optional.begin(), optional.size()});
}

Result<const YamlNode*> Fields::need(std::string_view key) const {
  if (const YamlNode* node = find(key)) return node;
  return std::unexpected(yaml_error(place_, *node_, fmt::format("expected the key \"{}\", which is missing", key)));
}

Result<std::string> Fields::text(std::string_view key) const {
  const YamlNode* node = TRY(need(key));
  std::string text = TRY(as_text(place_.at(key), *node));
  if (text.empty()) return error(key, "expected text, found none");
  return text;
}

Result<std::string> Fields::text_or(std::string_view key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  return text(key);
}

Result<int> Fields::integer(std::string_view key, int min, int max, std::optional<int> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  const YamlNode* node = TRY(need(key));
  return static_cast<int>(TRY(as_integer(place_.at(key), *node, min, max)));
}

Result<double> Fields::number(std::string_view key, double min, double max, std::optional<double> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  const YamlNode* node = TRY(need(key));
  double value = TRY(as_number(place_.at(key), *node));
  if (!(value >= min && value <= max)) {
    return error(key, fmt::format("expected a number from {} to {}, found {}", min, max, value));
  }
  return value;
}

Result<bool> Fields::flag(std::string_view key, bool otherwise) const {
  const YamlNode* node = find(key);
  if (!node) return otherwise;
  return as_bool(place_.at(key), *node);
}

Result<std::vector<std::string>> Fields::texts(std::string_view key) const {
  std::vector<std::string> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  for (const auto* items = TRY(as_sequence(place_.at(key), *node)); const YamlNode& item : *items) {
    out.push_back(TRY(as_text(place_.at(key).at(out.size()), item)));
  }
  return out;
}

Result<std::vector<int>> Fields::integers(std::string_view key, int min, int max) const {
  std::vector<int> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  for (const auto* items = TRY(as_sequence(place_.at(key), *node)); const YamlNode& item : *items) {
    out.push_back(static_cast<int>(TRY(as_integer(place_.at(key).at(out.size()), item, min, max))));
  }
  return out;
}

Result<std::vector<double>> Fields::numbers(std::string_view key, double min, double max) const {
  std::vector<double> out;
  const YamlNode* node = find(key);
  if (!node) return out;
  for (const auto* items = TRY(as_sequence(place_.at(key), *node)); const YamlNode& item : *items) {
    out.push_back(TRY(as_number(place_.at(key).at(out.size()), item)));
    if (!(out.back() >= min && out.back() <= max)) {
      return error(key, fmt::format("expected numbers from {} to {}, found {}", min, max, out.back()));
    }
  }
  return out;
}

Result<std::optional<Fields>> Fields::child(std::string_view key) const {
  const YamlNode* node = find(key);
  if (!node) return std::optional<Fields>{};
  TRY_VOID(as_mapping(place_.at(key), *node));
  return std::optional<Fields>(Fields(place_.at(key), *node));
}

Result<Fields> Fields::section(std::string_view key) const {
  const YamlNode* node = TRY(need(key));
  TRY_VOID(as_mapping(place_.at(key), *node));
  return Fields(place_.at(key), *node);
}

Result<std::vector<Fields>> Fields::rows(std::string_view key) const {
  const YamlNode* node = TRY(need(key));
  std::vector<Fields> out;
  for (const auto* items = TRY(as_sequence(place_.at(key), *node)); const YamlNode& item : *items) {
    TRY_VOID(as_mapping(place_.at(key).at(out.size()), item));
    out.emplace_back(place_.at(key).at(out.size()), item);
  }
  if (out.empty()) return error(key, "expected at least one entry, found none");
  return out;
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> out;
  for (const YamlMember& member : node_->members) out.push_back(member.first);
  return out;
}

std::unexpected<Error> Fields::error(std::string_view key, std::string_view message) const {
  const YamlNode* node = find(key);
  return std::unexpected(node ? yaml_error(place_.at(key), *node, message) : yaml_error(place_, *node_, message));
}

}  // namespace partita::study
