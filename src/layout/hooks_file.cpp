// mig-parted's hooks file: commands that run around an apply.
#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"
#include "layout/mig_parted_file.h"

namespace partita::layout {

namespace {

constexpr YamlLimits kLimits{.max_bytes = 1u << 20, .max_nodes = 20'000, .max_depth = 16};

// Text that the system takes as an argument or a path: no NUL in it.
Result<std::string> system_text(const YamlPlace& place, const YamlNode& node) {
  std::string text = TRY(as_text(place, node));
  if (text.find('\0') != text.npos) return yaml_fail(place, node, "a NUL character is not allowed here");
  return text;
}

Result<std::vector<std::string>> read_args(const YamlPlace& place, const YamlNode& node) {
  std::vector<std::string> out;
  if (node.kind == YamlNode::Kind::null) return out;
  for (const YamlNode& item : *TRY(as_sequence(place, node)))
    out.push_back(TRY(system_text(place.at(out.size()), item)));
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> read_envs(const YamlPlace& place, const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> out;
  if (node.kind == YamlNode::Kind::null) return out;
  TRY_VOID(as_mapping(place, node));
  for (const auto& [name, value] : node.members) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos)
      return yaml_fail(place.at(name), value, "expected the name of an environment variable, without \"=\"");
    out.emplace_back(name, TRY(system_text(place.at(name), value)));
  }
  return out;
}

Result<Hook> read_hook(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kRequired[] = {"command"};
  constexpr std::string_view kOptional[] = {"args", "envs", "workdir"};
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  Hook hook;
  hook.command = TRY(system_text(place.at("command"), *node.find("command")));
  if (hook.command.empty())
    return yaml_fail(place.at("command"), *node.find("command"), "expected a command, found nothing");
  if (const YamlNode* args = node.find("args")) hook.args = TRY(read_args(place.at("args"), *args));
  if (const YamlNode* envs = node.find("envs")) hook.envs = TRY(read_envs(place.at("envs"), *envs));
  if (const YamlNode* workdir = node.find("workdir"); workdir && workdir->kind != YamlNode::Kind::null)
    hook.workdir = TRY(system_text(place.at("workdir"), *workdir));
  return hook;
}

Result<std::vector<Hook>> read_list(const YamlPlace& hooks, const YamlNode& node, std::string_view key) {
  std::vector<Hook> out;
  const YamlNode* list = node.find(key);
  if (!list || list->kind == YamlNode::Kind::null) return out;
  const YamlPlace place = hooks.at(key);
  for (const YamlNode& item : *TRY(as_sequence(place, *list)))
    out.push_back(TRY(read_hook(place.at(out.size()), item)));
  return out;
}

}  // namespace

Result<HooksFile> read_hooks(std::string_view text, const std::string& file) {
  constexpr std::string_view kKeys[] = {"version", "hooks"};
  constexpr std::string_view kHooks[] = {"apply-start", "pre-apply-mode", "pre-apply-config", "apply-exit"};
  const YamlDocument document = TRY(parse_yaml(text, file, kLimits));
  const YamlPlace root{&document, ""};
  TRY_VOID(require_keys(root, document.root, kKeys, {}));
  TRY_VOID(require_version(root, document.root, "v1"));
  const YamlNode& hooks = *document.root.find("hooks");
  const YamlPlace place = root.at("hooks");
  TRY_VOID(require_keys(place, hooks, {}, kHooks));
  HooksFile out;
  out.apply_start = TRY(read_list(place, hooks, "apply-start"));
  out.pre_apply_mode = TRY(read_list(place, hooks, "pre-apply-mode"));
  out.pre_apply_config = TRY(read_list(place, hooks, "pre-apply-config"));
  out.apply_exit = TRY(read_list(place, hooks, "apply-exit"));
  return out;
}

}  // namespace partita::layout
