// What plan, apply, assert and restore are asked for, from their options.
#include <charconv>

#include "base/file.h"
#include "base/text.h"
#include "cli/common.h"

namespace partita::cli {
namespace {

std::string shown(const std::string& file) { return file == "-" ? "standard input" : file; }

// What checkpoint and defrag write; told apart by its first lines.
bool is_checkpoint(std::string_view text) {
  constexpr std::size_t kFirst = 256;
  return trim(text).starts_with('{') && text.substr(0, kFirst).find("\"partita-checkpoint-") != std::string_view::npos;
}

Result<layout::MigPartedLabel> selected_label(const layout::MigPartedFile& file,
                                              const std::optional<std::string>& label) {
  if (label) return *TRY(file.label(*label));
  if (file.labels.size() == 1) return file.labels.front();
  std::vector<std::string> names;
  constexpr std::size_t kMost = 20;
  for (const auto& each : file.labels)
    if (names.size() < kMost) names.push_back(each.name);
  return fail(ErrorCode::invalid, file.file + " has " + count_of(file.labels.size(), "label") + ": choose one with -c",
              {"labels: " + join(names, ", ") + (file.labels.size() > kMost ? ", ..." : "")});
}

}  // namespace

Result<api::DemandRequest> parse_demand(std::string_view text) {
  constexpr int kMost = 4096;
  api::DemandRequest out;
  for (const auto& part : split(text, ',')) {
    const std::string item(trim(part));
    const auto equals = item.rfind('=');
    const auto number = equals == std::string::npos ? std::string_view("1") : std::string_view(item).substr(equals + 1);
    const std::string profile(trim(item.substr(0, equals)));
    int count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (profile.empty() || error != std::errc{} || end != number.data() + number.size() || count < 1 || count > kMost)
      return fail(ErrorCode::invalid,
                  "option --demand: expected PROFILE=COUNT,... with counts from 1 to 4096, found \"" + item + "\"");
    for (const auto& [earlier, _] : out.demand)
      if (earlier == profile) return fail(ErrorCode::invalid, "option --demand: " + profile + " is given twice");
    out.demand.emplace_back(profile, count);
  }
  return out;
}

Result<api::Wanted> wanted_layout(const Parsed& parsed, bool demand_allowed) {
  const auto given = [&](std::string_view key) { return parsed.flag(key) && !parsed.from_environment.contains(key); };
  if (const auto demand = parsed.text("demand"); demand && demand_allowed) {
    for (const auto* other : {"config-file", "selected-config", "mode-only"})
      if (given(other))
        return fail(ErrorCode::invalid,
                    "options --demand and --" + std::string(other) + " do not go together: give one of them");
    return TRY(parse_demand(*demand));
  }
  const auto path = parsed.text("config-file");
  if (!path)
    return fail(ErrorCode::invalid, std::string(parsed.verb->name) + " needs a layout file: -f FILE" +
                                        (demand_allowed ? ", or --demand LIST" : ""));
  const auto text = TRY(read_file(*path));
  if (is_checkpoint(text)) {
    if (given("selected-config"))
      return fail(ErrorCode::invalid, shown(*path) + " is a checkpoint and has no labels: leave -c out");
    return api::CheckpointRequest{text, shown(*path)};
  }
  const auto file = TRY(layout::read_mig_parted(text, shown(*path)));
  return api::LayoutRequest{TRY(selected_label(file, parsed.text("selected-config"))), file.file};
}

Result<api::ChangeOptions> change_options(const Parsed& parsed) {
  api::ChangeOptions out;
  out.mode_only = parsed.flag("mode-only");
  if (parsed.flag("demand") && parsed.from_environment.contains("mode-only")) out.mode_only = false;
  out.skip_reset = parsed.flag("skip-reset");
  out.adopt = parsed.flag("adopt");
  out.force = parsed.flag("force");
  out.no_wait = parsed.flag("no-wait");
  if (const auto path = parsed.text("hooks-file")) {
    if (*path == "-")
      return fail(ErrorCode::invalid, "option --hooks-file: hooks are read from a file, not from standard input");
    const auto text = TRY(read_file(*path));
    out.hooks = TRY(layout::read_hooks(text, *path));
  }
  return out;
}

}  // namespace partita::cli
