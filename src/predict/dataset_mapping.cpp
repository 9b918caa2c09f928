// Mapping files: rename columns, then rules in order: when {source column: value} set {documented column: value}.
#include <algorithm>

#include <fmt/format.h>

#include "base/yaml.h"
#include "predict/dataset.h"

namespace partita::predict {
namespace {

Result<std::vector<std::string>> texts(const YamlPlace& place, const YamlNode& node) {
  std::vector<std::string> out;
  if (node.kind != YamlNode::Kind::sequence) {
    out.push_back(TRY(as_text(place, node)));
    return out;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) out.push_back(TRY(as_text(place.at(i), node.items[i])));
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> pairs(const YamlPlace& place, const YamlNode& node) {
  TRY_VOID(as_mapping(place, node));
  std::vector<std::pair<std::string, std::string>> out;
  for (const YamlMember& member : node.members) {
    out.emplace_back(member.first, TRY(as_text(place.at(member.first), member.second)));
  }
  return out;
}

Result<MappingRule> read_rule(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kOptional[] = {"when", "set", "drop"};
  TRY_VOID(require_keys(place, node, {}, kOptional));
  MappingRule rule;
  if (const YamlNode* when = node.find("when")) {
    TRY_VOID(as_mapping(place.at("when"), *when));
    for (const YamlMember& member : when->members) {
      rule.when.emplace_back(member.first, TRY(texts(place.at("when").at(member.first), member.second)));
    }
  }
  if (const YamlNode* set = node.find("set")) rule.set = TRY(pairs(place.at("set"), *set));
  if (const YamlNode* drop = node.find("drop")) rule.drop = TRY(as_bool(place.at("drop"), *drop));
  return rule;
}

Result<Mapping> read_mapping(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kRequired[] = {"name", "title", "file", "columns", "rules"};
  TRY_VOID(require_keys(place, node, kRequired, {}));
  Mapping mapping;
  mapping.name = TRY(as_text(place.at("name"), *node.find("name")));
  mapping.title = TRY(as_text(place.at("title"), *node.find("title")));
  mapping.file = TRY(as_text(place.at("file"), *node.find("file")));
  mapping.columns = TRY(pairs(place.at("columns"), *node.find("columns")));
  const auto* rules = TRY(as_sequence(place.at("rules"), *node.find("rules")));
  for (std::size_t i = 0; i < rules->size(); ++i) {
    mapping.rules.push_back(TRY(read_rule(place.at("rules").at(i), (*rules)[i])));
  }
  return mapping;
}

// A rule with its columns found.
struct BoundRule {
  std::vector<std::pair<std::size_t, const std::vector<std::string>*>> when;
  std::vector<std::pair<std::size_t, const std::string*>> set;
  bool drop;
};

bool holds(const BoundRule& rule, const std::vector<std::string>& row) {
  return std::ranges::all_of(rule.when, [&](const auto& condition) {
    return std::ranges::find(*condition.second, row[condition.first]) != condition.second->end();
  });
}

}  // namespace

Result<std::vector<Mapping>> read_mappings(std::string_view text, const std::string& file) {
  YamlDocument document = TRY(parse_yaml(text, file));
  YamlPlace place{&document, ""};
  constexpr std::string_view kRequired[] = {"datasets"};
  TRY_VOID(require_keys(place, document.root, kRequired, {}));
  place = place.at("datasets");
  const auto* items = TRY(as_sequence(place, *document.root.find("datasets")));
  std::vector<Mapping> out;
  for (std::size_t i = 0; i < items->size(); ++i) out.push_back(TRY(read_mapping(place.at(i), (*items)[i])));
  return out;
}

Result<CsvTable> apply_mapping(const Mapping& mapping, const CsvTable& table) {
  CsvTable out;
  out.file = table.file;
  out.description = table.description;
  std::vector<std::size_t> from;
  for (const auto& [to, source] : mapping.columns) {
    out.columns.push_back(to);
    from.push_back(TRY(table.require(source)));
  }
  auto target = [&](const std::string& column) {
    auto it = std::ranges::find(out.columns, column);
    if (it == out.columns.end()) it = out.columns.insert(out.columns.end(), column);
    return static_cast<std::size_t>(it - out.columns.begin());
  };
  std::vector<BoundRule> rules;
  for (const MappingRule& rule : mapping.rules) {
    BoundRule bound{.when = {}, .set = {}, .drop = rule.drop};
    for (const auto& [column, values] : rule.when) bound.when.emplace_back(TRY(table.require(column)), &values);
    for (const auto& [column, value] : rule.set) bound.set.emplace_back(target(column), &value);
    rules.push_back(std::move(bound));
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<std::string> row(out.columns.size());
    for (std::size_t c = 0; c < from.size(); ++c) row[c] = table.rows[i][from[c]];
    bool keep = true;
    for (const BoundRule& rule : rules) {
      if (!holds(rule, table.rows[i])) continue;
      keep = keep && !rule.drop;
      for (const auto& [column, value] : rule.set) row[column] = *value;
    }
    if (!keep) continue;
    out.rows.push_back(std::move(row));
    out.lines.push_back(table.lines[i]);
  }
  return out;
}

}  // namespace partita::predict
