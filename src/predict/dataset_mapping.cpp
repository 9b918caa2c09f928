// Mapping files: rename columns, then rules in order: when {source column: value} set {documented column: value}.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"
#include "predict/dataset.h"
#include "predict/dataset_columns.h"

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

// A documented column, or one in another unit of its own: latency_s.
bool plainly_named(std::string_view column) {
  auto known = known_column(column);
  return known && (known->name == column || known->scale != 1);
}

// Documented column -> text.
Result<std::vector<std::pair<std::string, std::string>>> pairs(const YamlPlace& place, const YamlNode& node) {
  TRY_VOID(as_mapping(place, node));
  std::vector<std::pair<std::string, std::string>> out;
  for (const YamlMember& member : node.members) {
    if (!plainly_named(member.first)) {
      return std::unexpected(yaml_error(place, member.second,
                                        fmt::format("{} is no column of the documented format{}", quote(member.first),
                                                    nearest_column(member.first))));
    }
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

Result<void> read_columns_and_rules(const YamlPlace& place, const YamlNode& node, Mapping& mapping) {
  if (const YamlNode* columns = node.find("columns")) mapping.columns = TRY(pairs(place.at("columns"), *columns));
  const YamlNode* rules = node.find("rules");
  if (!rules) return {};
  const auto* items = TRY(as_sequence(place.at("rules"), *rules));
  for (std::size_t i = 0; i < items->size(); ++i) {
    mapping.rules.push_back(TRY(read_rule(place.at("rules").at(i), (*items)[i])));
  }
  return {};
}

Result<Mapping> read_mapping(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kRequired[] = {"name", "title", "file", "columns", "rules"};
  TRY_VOID(require_keys(place, node, kRequired, {}));
  Mapping mapping;
  mapping.name = TRY(as_text(place.at("name"), *node.find("name")));
  mapping.title = TRY(as_text(place.at("title"), *node.find("title")));
  mapping.file = TRY(as_text(place.at("file"), *node.find("file")));
  TRY_VOID(read_columns_and_rules(place, node, mapping));
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

bool tells(const CsvTable& table, std::string_view documented) {
  return std::ranges::any_of(table.columns, [&](const std::string& column) {
    auto known = known_column(column);
    return known && known->name == documented;
  });
}

bool asks_for(const Mapping& mapping, const std::string& column) {
  return std::ranges::any_of(mapping.rules, [&](const MappingRule& rule) {
    return std::ranges::any_of(rule.when, [&](const auto& condition) { return condition.first == column; });
  });
}

// Source columns that the mapping does not name, unless what they tell is told already.
void keep_others(const Mapping& mapping, const CsvTable& table, CsvTable& out, std::vector<std::size_t>& from) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    auto known = known_column(table.columns[i]);
    if (!known && asks_for(mapping, table.columns[i])) continue;
    bool taken = std::ranges::find(from, i) != from.end() || (known && tells(out, known->name));
    if (taken || out.column(table.columns[i])) continue;
    out.columns.push_back(table.columns[i]);
    from.push_back(i);
  }
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

Result<Mapping> read_own_mapping(std::string_view text, const std::string& file) {
  YamlDocument document = TRY(parse_yaml(text, file));
  YamlPlace place{&document, ""};
  constexpr std::string_view kOptional[] = {"columns", "rules"};
  TRY_VOID(require_keys(place, document.root, {}, kOptional));
  Mapping mapping;
  mapping.others = true;
  TRY_VOID(read_columns_and_rules(place, document.root, mapping));
  return mapping;
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
  if (mapping.others) keep_others(mapping, table, out, from);
  auto target = [&](const std::string& column) {
    auto it = std::ranges::find(out.columns, column);
    auto same = [&](const std::string& other) {
      auto known = known_column(other);
      return known && known->name == column;
    };
    if (it == out.columns.end()) it = std::ranges::find_if(out.columns, same);
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
