// The request for a plan or a change of the layout as JSON.
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"

namespace partita::api {
namespace {

// The label as a mig-parted file of its own, with the lines that messages name.
void write_wanted(const LayoutRequest& request, Json& out) {
  out["mig_parted"] = Json::parse(layout::write_mig_parted_json({request.file, {request.label}}), nullptr, false);
  out["label"] = request.label.name;
  out["file"] = request.file;
  auto lines = Json::array({request.label.line});
  for (const auto& entry : request.label.entries) lines.push_back(entry.line);
  out["lines"] = std::move(lines);
}
void write_wanted(const CheckpointRequest& request, Json& out) {
  out["checkpoint"] = request.text;
  out["file"] = request.file;
}
void write_wanted(const DemandRequest& request, Json& out) {
  out["demand"] = Json::object();
  for (const auto& [profile, count] : request.demand) out["demand"][profile] = count;
}

Json hooks_json(const std::vector<layout::Hook>& hooks) {
  auto out = Json::array();
  for (const auto& hook : hooks) {
    Json each;
    each["command"] = hook.command;
    each["args"] = hook.args;
    each["envs"] = Json::object();
    for (const auto& [name, value] : hook.envs) each["envs"][name] = value;
    each["workdir"] = hook.workdir;
    out.push_back(std::move(each));
  }
  return out;
}

Json options_json(const ChangeOptions& options) {
  Json out;
  out["mode_only"] = options.mode_only;
  out["skip_reset"] = options.skip_reset;
  out["adopt"] = options.adopt;
  out["force"] = options.force;
  out["no_wait"] = options.no_wait;
  const auto& hooks = options.hooks;
  Json lists;
  if (!hooks.apply_start.empty()) lists["apply-start"] = hooks_json(hooks.apply_start);
  if (!hooks.pre_apply_mode.empty()) lists["pre-apply-mode"] = hooks_json(hooks.pre_apply_mode);
  if (!hooks.pre_apply_config.empty()) lists["pre-apply-config"] = hooks_json(hooks.pre_apply_config);
  if (!hooks.apply_exit.empty()) lists["apply-exit"] = hooks_json(hooks.apply_exit);
  if (!lists.is_null()) out["hooks"] = std::move(lists);
  return out;
}

}  // namespace

std::string to_json(const PlanRequest& request) {
  Json out;
  std::visit([&](const auto& wanted) { write_wanted(wanted, out); }, request.wanted);
  out["options"] = options_json(request.options);
  return to_wire_text(out);
}

}  // namespace partita::api
