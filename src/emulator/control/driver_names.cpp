#include "emulator/control/driver_names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/embedded.h"

namespace partita::emulator {

namespace {

constexpr int kHighestBranch = 9999;

Result<Bytes> read_memory(const YamlPlace& place, const YamlNode& node) {
  constexpr std::int64_t kMostMib = 1 << 30;
  return mib(static_cast<std::uint64_t>(TRY(as_integer(place, node, 1, kMostMib))));
}

Result<DriverProfile> read_profile(const std::string& name, const YamlPlace& place, const YamlNode& node) {
  static constexpr std::array<std::string_view, 3> kKeys = {"spelling", "memory_mib", "absent"};
  TRY_VOID(as_mapping(place, node));
  TRY_VOID(require_keys(place, node, {}, kKeys));
  DriverProfile profile{.name = name, .spelling = {}, .memory = {}};
  if (const YamlNode* key = node.find("spelling")) profile.spelling = TRY(as_text(place.at("spelling"), *key));
  if (const YamlNode* key = node.find("memory_mib")) profile.memory = TRY(read_memory(place.at("memory_mib"), *key));
  if (const YamlNode* key = node.find("absent")) profile.absent = TRY(as_bool(place.at("absent"), *key));
  return profile;
}

Result<DriverNames> read_row(const YamlPlace& place, const YamlNode& node) {
  static constexpr std::array<std::string_view, 3> kRequired = {"boards", "source", "confidence"};
  static constexpr std::array<std::string_view, 4> kOptional = {"since", "before", "total_memory_mib", "profiles"};
  TRY_VOID(as_mapping(place, node));
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  DriverNames row;
  for (std::size_t i = 0; const YamlNode& board : *TRY(as_sequence(place.at("boards"), *node.find("boards"))))
    row.boards.push_back(TRY(as_text(place.at("boards").at(i++), board)));
  row.source = TRY(as_text(place.at("source"), *node.find("source")));
  row.confidence = TRY(as_text(place.at("confidence"), *node.find("confidence")));
  if (const YamlNode* key = node.find("since"))
    row.since = static_cast<int>(TRY(as_integer(place.at("since"), *key, 1, kHighestBranch)));
  if (const YamlNode* key = node.find("before"))
    row.before = static_cast<int>(TRY(as_integer(place.at("before"), *key, 1, kHighestBranch)));
  if (const YamlNode* key = node.find("total_memory_mib"))
    row.total_memory = TRY(read_memory(place.at("total_memory_mib"), *key));
  if (const YamlNode* key = node.find("profiles")) {
    TRY_VOID(as_mapping(place.at("profiles"), *key));
    for (const auto& [name, profile] : key->members)
      row.profiles.push_back(TRY(read_profile(name, place.at("profiles").at(name), profile)));
  }
  if (!row.since && !row.before) return yaml_fail(place, node, "expected `since` or `before`: a branch of the driver");
  return row;
}

}  // namespace

bool DriverNames::holds(std::string_view board, int branch) const {
  return std::ranges::find(boards, board) != boards.end() && branch >= since.value_or(0) &&
         branch < before.value_or(kHighestBranch + 1);
}

Result<std::vector<DriverNames>> read_driver_names(std::string_view text, const std::string& file) {
  static constexpr std::array<std::string_view, 1> kRequired = {"drivers"};
  const YamlDocument document = TRY(parse_yaml(text, file, {.max_bytes = 1U << 20, .max_nodes = 20'000}));
  const YamlPlace root{&document, ""};
  TRY_VOID(as_mapping(root, document.root));
  TRY_VOID(require_keys(root, document.root, kRequired, {}));
  const YamlPlace place = root.at("drivers");
  std::vector<DriverNames> rows;
  for (std::size_t i = 0; const YamlNode& row : *TRY(as_sequence(place, *document.root.find("drivers"))))
    rows.push_back(TRY(read_row(place.at(i++), row)));
  return rows;
}

Result<std::vector<DriverNames>> driver_names() {
  const std::string file = "driver_names.yaml";
  const auto text = catalog::embedded_file(file);
  if (!text) return fail(ErrorCode::internal, file + " is not in the program");
  return read_driver_names(*text, file);
}

int driver_branch(std::string_view version) {
  int branch = 0;
  std::from_chars(version.data(), version.data() + version.size(), branch);
  return branch;
}

}  // namespace partita::emulator
