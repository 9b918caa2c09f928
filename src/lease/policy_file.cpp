// The policy's text.
#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "base/yaml.h"
#include "lease/policy.h"

namespace partita::lease {

namespace {

using std::chrono::milliseconds;

constexpr YamlLimits kYaml{.max_bytes = 4u << 20, .max_nodes = 200'000, .max_depth = 8};
constexpr int kMost = 1'000'000;
constexpr milliseconds kShortest = std::chrono::seconds(1);
constexpr std::string_view kKeys[] = {"partitions", "compute-slices", "memory",
                                      "longest",    "default",        "highest-priority"};

bool is_unlimited(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar && !node.quoted && node.text == "unlimited";
}

Result<milliseconds> as_duration(const YamlPlace& place, const YamlNode& node, milliseconds least) {
  const auto duration = parse_duration(TRY(as_text(place, node)));
  if (!duration) return yaml_fail(place, node, duration.error().message);
  if (*duration < least)
    return yaml_fail(place, node,
                     fmt::format("expected at least {}, found {}", to_string(least), to_string(*duration)));
  return *duration;
}

Result<Bytes> as_memory(const YamlPlace& place, const YamlNode& node) {
  const auto memory = parse_bytes(TRY(as_text(place, node)));
  if (!memory) return yaml_fail(place, node, memory.error().message);
  if (memory->value > 0 && *memory < mib(1))
    return yaml_fail(place, node,
                     fmt::format("expected an amount of memory such as 40GiB, found only {}", to_string(*memory)));
  return *memory;
}

Result<int> as_count(const YamlPlace& place, const YamlNode& node) {
  return static_cast<int>(TRY(as_integer(place, node, 0, kMost)));
}

Result<api::Priority> as_priority(const YamlPlace& place, const YamlNode& node) {
  const std::string text = TRY(as_text(place, node));
  if (const auto value = api::priority(text)) return *value;
  return yaml_fail(place, node, fmt::format("expected low, normal or high, found {}", quote(text)));
}

// Reads one key of a limit: its value, `unlimited`, or nothing when it is not there.
template <class T, class Read>
Result<void> read_key(const YamlPlace& place, const YamlNode& node, std::string_view key, std::optional<T>& value,
                      int& line, Read read) {
  const YamlNode* found = node.find(key);
  if (!found) return {};
  line = found->line;
  if (!is_unlimited(*found)) value = TRY(read(place.at(key), *found));
  return {};
}

Result<Limit> read_limit(const YamlPlace& place, const YamlNode& node) {
  const auto as_length = [](const YamlPlace& at, const YamlNode& n) { return as_duration(at, n, kShortest); };
  TRY_VOID(require_keys(place, node, {}, kKeys));
  if (node.members.empty()) return yaml_fail(place, node, "expected limits, found none; leave it out");
  Limit limit;
  limit.line = node.line;
  auto& lines = limit.lines;
  TRY_VOID(read_key(place, node, "partitions", limit.partitions, lines.partitions, as_count));
  TRY_VOID(read_key(place, node, "compute-slices", limit.compute_slices, lines.compute_slices, as_count));
  TRY_VOID(read_key(place, node, "memory", limit.memory, lines.memory, as_memory));
  TRY_VOID(read_key(place, node, "longest", limit.longest, lines.longest, as_length));
  TRY_VOID(read_key(place, node, "default", limit.standard, lines.standard, as_length));
  TRY_VOID(read_key(place, node, "highest-priority", limit.highest, lines.highest, as_priority));
  if (limit.longest && limit.standard && *limit.standard > *limit.longest)
    return yaml_fail(place.at("default"), *node.find("default"),
                     fmt::format("expected at most longest ({}, line {}), found {}", to_string(*limit.longest),
                                 lines.longest, to_string(*limit.standard)));
  if (limit.longest && lines.standard != 0 && !limit.standard)
    return yaml_fail(place.at("default"), *node.find("default"),
                     fmt::format("expected at most longest ({}, line {}), found unlimited", to_string(*limit.longest),
                                 lines.longest));
  return limit;
}

bool is_name(std::string_view name) {
  const auto odd = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == ':' || c == '/' || c == ','; };
  return !name.empty() && name.size() <= 256 && std::ranges::none_of(name, odd);
}

Result<std::map<std::string, Limit, std::less<>>> read_limits(const YamlPlace& root, const YamlNode& node,
                                                              std::string_view key, std::string_view what) {
  std::map<std::string, Limit, std::less<>> limits;
  const YamlNode* found = node.find(key);
  if (!found) return limits;
  const YamlPlace place = root.at(key);
  TRY_VOID(as_mapping(place, *found));
  for (const auto& [name, limit] : found->members) {
    if (!is_name(name))
      return yaml_fail(place, limit, fmt::format("expected the name of a {}, found {}", what, quote(name)));
    limits.emplace(name, TRY(read_limit(place.at(name), limit)));
  }
  return limits;
}

// A default over the longest that a user inherits can never be had.
Result<void> check_defaults(const YamlPlace& root, const YamlNode& node, const Policy& policy) {
  const auto& longest = policy.everyone.longest;
  for (const auto& [name, limit] : policy.users) {
    if (!longest || limit.lines.longest != 0 || !limit.standard || *limit.standard <= *longest) continue;
    const YamlNode& user = *node.find("users")->find(name);
    return yaml_fail(root.at("users").at(name).at("default"), *user.find("default"),
                     fmt::format("expected at most everyone's longest ({}, line {}), found {}; give longest here, too",
                                 to_string(*longest), policy.everyone.lines.longest, to_string(*limit.standard)));
  }
  return {};
}

}  // namespace

Result<Policy> read_policy(std::string_view text, const std::string& file) {
  constexpr std::string_view kRequired[] = {"version"};
  constexpr std::string_view kOptional[] = {"warning", "grace", "everyone", "users", "groups"};
  const YamlDocument document = TRY(parse_yaml(text, file, kYaml));
  const YamlPlace root{&document, ""};
  TRY_VOID(require_keys(root, document.root, kRequired, kOptional));
  TRY_VOID(require_version(root, document.root, "v1"));
  Policy policy;
  policy.file = file;
  if (const YamlNode* node = document.root.find("warning"))
    policy.warning = TRY(as_duration(root.at("warning"), *node, milliseconds(0)));
  if (const YamlNode* node = document.root.find("grace"))
    policy.grace = TRY(as_duration(root.at("grace"), *node, milliseconds(0)));
  if (const YamlNode* node = document.root.find("everyone"))
    policy.everyone = TRY(read_limit(root.at("everyone"), *node));
  policy.users = TRY(read_limits(root, document.root, "users", "user"));
  policy.groups = TRY(read_limits(root, document.root, "groups", "group"));
  TRY_VOID(check_defaults(root, document.root, policy));
  return policy;
}

}  // namespace partita::lease
