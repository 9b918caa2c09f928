// Strict YAML 1.1 (and so JSON) reading over libyaml, bounded against hostile input.
//
// parse_yaml() returns a plain tree with line numbers. Anchors, aliases, tags, merge keys, several documents,
// duplicate keys, text that is not UTF-8, and trees over the limits are errors. The functions below it check types and
// keys and word their errors alike: "FILE:LINE: KEY: expected WHAT, found WHAT".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

struct YamlLimits {
  std::size_t max_bytes = 64u << 20;
  std::size_t max_nodes = 1'000'000;
  int max_depth = 64;
};

struct YamlMember;

struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  bool quoted = false;              // a scalar in quotes is text, never a number or bool
  int line = 0;                     // 1-based; a member's is its key's
  std::string text;                 // scalars
  std::vector<YamlNode> items;      // sequences
  std::vector<YamlMember> members;  // mappings, in file order
  // The member called `key`, or nullptr.
  const YamlNode* find(std::string_view key) const;
};

struct YamlMember {
  std::string first;  // the key
  YamlNode second;
};

struct YamlDocument {
  std::string file;  // as shown in errors
  YamlNode root;
};

Result<YamlDocument> parse_yaml(std::string_view text, std::string file, const YamlLimits& limits = {});

// Where an error is told to be: a file and the path of keys that leads to the node.
struct YamlPlace {
  const YamlDocument* document = nullptr;
  std::string path;  // "mig-configs.my-layout[0].devices"
  YamlPlace at(std::string_view key) const;
  YamlPlace at(std::size_t index) const;
};

// An `invalid` error at a node: "FILE:LINE: PATH: message".
Error yaml_error(const YamlPlace& place, const YamlNode& node, std::string_view message);
inline std::unexpected<Error> yaml_fail(const YamlPlace& place, const YamlNode& node, std::string_view message) {
  return std::unexpected(yaml_error(place, node, message));
}

// Each returns `invalid` naming file, line, key, what was expected and what was found.
Result<void> require_keys(const YamlPlace&, const YamlNode&, std::span<const std::string_view> required,
                          std::span<const std::string_view> optional);
Result<std::string> as_text(const YamlPlace&, const YamlNode&);
Result<std::int64_t> as_integer(const YamlPlace&, const YamlNode&, std::int64_t min, std::int64_t max);
Result<double> as_number(const YamlPlace&, const YamlNode&);
Result<bool> as_bool(const YamlPlace&, const YamlNode&);  // true/false only (YAML 1.1 yes/no/on/off are text)
Result<const std::vector<YamlNode>*> as_sequence(const YamlPlace&, const YamlNode&);
// The member "version" of a mapping that has one is `expected`.
Result<void> require_version(const YamlPlace&, const YamlNode&, std::string_view expected);
Result<void> as_mapping(const YamlPlace&, const YamlNode&);  // {} and null-valued are told apart: null is not a mapping

}  // namespace partita
