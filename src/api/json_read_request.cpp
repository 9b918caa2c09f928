// Requests, strictly.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/json_in.h"
#include "api/json_lease_in.h"
#include "api/json_read.h"
#include "api/lease_bounds.h"

namespace partita::api {
namespace {

using std::chrono::milliseconds;

constexpr int kMostCount = 4096;

// Exactly one of the keys must be there.
std::string chosen(const Members& in, std::initializer_list<std::string_view> keys) {
  std::string found;
  for (const auto key : keys) {
    if (!in.has(key)) continue;
    if (!found.empty())
      in.reading().wrong(in.path_of(key), "does not go together with " + found + ": give one of them");
    found = key;
  }
  return found;
}

const layout::MigPartedLabel* label_of(const layout::MigPartedFile& file, const Members& in) {
  if (!in.has("label") && file.labels.size() == 1) return &file.labels.front();
  const auto label = file.label(in.text("label"));
  if (!label) in.reading().fault = label.error();
  return label ? *label : nullptr;
}

LayoutRequest read_layout(const Members& in, const std::string& file) {
  const auto parsed = layout::read_mig_parted(to_wire_text(in.at("mig_parted")), "mig_parted");
  if (!parsed) {
    if (!in.reading().fault) in.reading().fault = parsed.error();
    return {};
  }
  const auto* label = label_of(*parsed, in);
  if (!label) return {};
  LayoutRequest out{*label, file.empty() ? "mig_parted" : file};
  std::vector<int> lines;
  in.each("lines", [&](const Json& line, const std::string& path) {
    if (!line.is_number_integer() || line > kMostNumber || line < 0)
      in.reading().wrong(path, "expected a line number");
    else
      lines.push_back(line.get<int>());
  });
  if (lines.empty()) return out;
  out.label.line = lines.front();
  for (std::size_t i = 0; i < out.label.entries.size() && i + 1 < lines.size(); ++i)
    out.label.entries[i].line = lines[i + 1];
  return out;
}

CheckpointRequest read_checkpoint_text(const Members& in, const std::string& file) {
  constexpr std::size_t kLongestCheckpoint = 8u << 20;
  const auto& json = in.at("checkpoint");
  auto text = json.is_object() ? to_wire_text(json) : in.text("checkpoint", kLongestCheckpoint);
  return {std::move(text), file.empty() ? "checkpoint" : file};
}

DemandRequest read_demand(const Members& in) {
  DemandRequest out;
  const auto& json = in.at("demand");
  if (!json.is_object() || json.empty()) {
    in.wrong("demand", "an object of profiles and counts");
    return out;
  }
  for (const auto& [profile, count] : json.items()) {
    if (!count.is_number_integer() || count < 1 || count > kMostCount)
      in.reading().wrong(in.path_of("demand") + "." + profile, "expected a whole number from 1 to 4096");
    else
      out.demand.emplace_back(profile, count.get<int>());
  }
  return out;
}

Wanted read_wanted(const Members& in) {
  const auto kind = chosen(in, {"mig_parted", "checkpoint", "demand"});
  const auto file = in.text("file");
  for (const auto* key : {"label", "lines"})
    if (kind != "mig_parted" && in.has(key)) in.wrong(key, "nothing: it belongs to mig_parted");
  if (kind == "mig_parted") return read_layout(in, file);
  if (kind == "checkpoint") return read_checkpoint_text(in, file);
  if (kind == "demand") return read_demand(in);
  in.reading().wrong("", "expected one of mig_parted, checkpoint and demand");
  return DemandRequest{};
}

layout::HooksFile read_request_hooks(const Members& in, Hooks allowed) {
  const auto& json = in.at("hooks");
  if (json.is_null() || (json.is_object() && json.empty())) return {};
  if (allowed == Hooks::refused) {
    if (!in.reading().fault)
      in.reading().fault = Error{ErrorCode::denied,
                                 "options.hooks: hooks run as the node's own user, so only that user may send them, "
                                 "through the node's socket",
                                 {}};
    return {};
  }
  const auto hooks = layout::read_hooks(to_wire_text(Json{{"version", "v1"}, {"hooks", json}}), "options");
  if (!hooks && !in.reading().fault) in.reading().fault = hooks.error();
  return hooks.value_or(layout::HooksFile{});
}

ChangeOptions read_options(Reading& reading, const Json& json, Hooks hooks) {
  const Members in(reading, json, "options", {"mode_only", "skip_reset", "adopt", "force", "no_wait", "hooks"});
  ChangeOptions out;
  out.mode_only = in.flag("mode_only");
  out.skip_reset = in.flag("skip_reset");
  out.adopt = in.flag("adopt");
  out.force = in.flag("force");
  out.no_wait = in.flag("no_wait");
  out.hooks = read_request_hooks(in, hooks);
  return out;
}

std::optional<milliseconds> read_duration(const Members& in, std::string_view key) {
  const auto value = in.maybe_number<std::int64_t>(key, 1, kLongestDuration.count());
  return value ? std::optional(milliseconds(*value)) : std::nullopt;
}

std::map<std::string, std::string> read_request_labels(const Members& in) {
  std::map<std::string, std::string> out;
  const auto& json = in.at("labels");
  if (json.is_null()) return out;
  if (!json.is_object() || json.size() > kMostLabels) {
    in.wrong("labels", fmt::format("an object of at most {} texts", kMostLabels));
    return out;
  }
  for (const auto& [key, value] : json.items()) {
    if (key.empty() || key.size() > kLongestLabel || !value.is_string() ||
        value.get_ref<const std::string&>().size() > kLongestLabel)
      in.reading().wrong(in.path_of("labels"),
                         fmt::format("expected names and texts of at most {} bytes", kLongestLabel));
    else
      out[key] = value.get<std::string>();
  }
  return out;
}

Holder read_request_holder(Reading& reading, const Json& json, const Caller& caller) {
  auto out = read_holder(reading, json, "holder");
  const Members in(reading, json, "holder", {"kind", "uid", "user", "id", "process"});
  if (!in.has("uid") && !in.has("user")) {
    out.uid = caller.uid;
    out.user = caller.name;
  } else if (!in.has("uid") || !in.has("user")) {
    reading.wrong("holder", "uid and user go together: give both, or none for yourself");
  }
  return out;
}

LeaseChange read_change(const Members& in, const Caller& caller, std::string name) {
  constexpr std::int64_t kLongestGrace = 3'600'000;
  LeaseChange out;
  out.caller = caller;
  out.name = std::move(name);
  if (const auto grace = in.maybe_number<std::int64_t>("grace_ms", 0, kLongestGrace)) out.grace = milliseconds(*grace);
  out.force = in.flag("force");
  return out;
}

std::string_view body_of(std::string_view json) { return json.empty() ? "{}" : json; }

}  // namespace

Result<PlanRequest> read_plan_request(std::string_view json, const Caller& caller, Hooks hooks) {
  return read_document(json, Strictness::request, [&](const Json& document, Reading& reading) {
    const Members in(reading, document, "",
                     {"mig_parted", "label", "file", "lines", "checkpoint", "demand", "options"});
    PlanRequest out;
    out.caller = caller;
    out.wanted = read_wanted(in);
    out.options = read_options(reading, in.at("options"), hooks);
    return out;
  });
}

Result<LeaseRequest> read_lease_request(std::string_view json, const Caller& caller) {
  return read_document(json, Strictness::request, [&](const Json& document, Reading& reading) {
    const Members in(
        reading, document, "",
        {"name", "count", "holder", "requirement", "duration_ms", "priority", "labels", "no_wait", "host_limits"});
    in.need("requirement");
    LeaseRequest out;
    out.caller = caller;
    out.name = in.text("name");
    out.count = in.maybe_number("count", 1, kMostLeasesAtOnce).value_or(1);
    out.holder = read_request_holder(reading, in.at("holder"), caller);
    out.requirement = read_requirement(reading, in.at("requirement"), "requirement");
    out.duration = read_duration(in, "duration_ms");
    out.priority = read_priority(in);
    out.labels = read_request_labels(in);
    out.no_wait = in.flag("no_wait");
    out.host_limits = read_host_limits(reading, in.at("host_limits"), "host_limits");
    return out;
  });
}

Result<LeaseChange> read_lease_change(std::string_view json, const Caller& caller, std::string name) {
  return read_document(body_of(json), Strictness::request, [&](const Json& document, Reading& reading) {
    return read_change(Members(reading, document, "", {"grace_ms", "force"}), caller, std::move(name));
  });
}

Result<Renewal> read_renewal(std::string_view json, const Caller& caller, std::string name) {
  return read_document(body_of(json), Strictness::request, [&](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {"grace_ms", "force", "duration_ms"});
    return Renewal{read_change(in, caller, std::move(name)), read_duration(in, "duration_ms")};
  });
}

Result<Resizing> read_resizing(std::string_view json, const Caller& caller, std::string name) {
  return read_document(body_of(json), Strictness::request, [&](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {"grace_ms", "force", "requirement"});
    in.need("requirement");
    return Resizing{read_change(in, caller, std::move(name)),
                    read_requirement(reading, in.at("requirement"), "requirement")};
  });
}

Result<Attachment> read_attachment(std::string_view json, const Caller& caller, std::string name) {
  return read_document(body_of(json), Strictness::request, [&](const Json& document, Reading& reading) {
    const Members in(reading, document, "", {"grace_ms", "force", "process"});
    in.need("process");
    return Attachment{read_change(in, caller, std::move(name)), read_process(reading, in.at("process"), "process")};
  });
}

}  // namespace partita::api
