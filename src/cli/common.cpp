#include "cli/common.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/json.h"
#include "base/file.h"
#include "base/json_to_yaml.h"
#include "base/process.h"
#include "base/text.h"
#include "emulator/control/control.h"
#include "node/node.h"

namespace partita::cli {
namespace {

api::Caller this_user() {
  api::Caller caller;
  caller.uid = geteuid();
  caller.administrator = caller.uid == 0;
  if (const auto* entry = getpwuid(caller.uid))
    caller.name = entry->pw_name;
  else
    caller.name = "uid " + std::to_string(caller.uid);
  return caller;
}

Result<std::filesystem::path> state_folder() {
  if (geteuid() == 0) return "/var/lib/partita";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/')
    return std::filesystem::path(state) / "partita";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".local/state/partita";
  return fail(ErrorCode::invalid, "no folder for partita's state: set XDG_STATE_HOME or HOME to an absolute path");
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

Result<node::Options> real_node() {
  node::Options options;
  options.state_dir = TRY(state_folder());
  options.name = host_name();
  return options;
}

Result<node::Options> emulated_node(catalog::Catalog& catalog, const std::string& argument) {
  const auto emulated = TRY(emulator::start(catalog, argument));
  setenv("PARTITA_EMULATED_NODE", emulated.folder.c_str(), 1);
  node::Options options;
  options.driver.library = TRY(emulator::library_path());
  options.driver.device_root = emulated.folder / "root";
  options.state_dir = emulated.folder;
  options.name = emulated.name;
  options.emulated = true;
  options.reset_command = {TRY(own_program()).string(), "emulate", "reset", emulated.name, "--gpu={bus-id}"};
  return options;
}

Error with_emulate_form(Error error, const Parsed& parsed) {
  if (error.code == ErrorCode::unavailable && parsed.verb)
    error.details.push_back("without a GPU: partita --emulate dgx-a100 " + std::string(parsed.verb->name));
  return error;
}

std::string drawn(const Look& look, const Error& error) {
  constexpr std::string_view kPrefix = "partita: ";
  const auto laid_out = [&](const std::string& text, int indent, int first) {
    return look.terminal ? wrapped(text, look.width, indent, first) : text;
  };
  const auto message = printable(error.message) + " [" + std::string(name(error.code)) + "]";
  std::string out = paint(look, Tone::bad, kPrefix) + laid_out(message, 2, static_cast<int>(kPrefix.size())) + '\n';
  for (const auto& detail : error.details) out += "  " + laid_out(printable(detail), 4, 2) + '\n';
  return out;
}

}  // namespace

Result<Format> format_of(const Parsed& parsed, Format otherwise) {
  const auto text = parsed.text("output");
  if (!text) return otherwise;
  if (*text == "table") return Format::table;
  if (*text == "json") return Format::json;
  if (*text == "yaml") return Format::yaml;
  return fail(ErrorCode::invalid, "option -o: expected table, json or yaml, found \"" + *text + "\"");
}

Look output_look(const Parsed& parsed) { return look_of(STDOUT_FILENO, parsed.flag("no-color")); }

Result<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return fail(ErrorCode::unavailable, "cannot write to standard output: " + std::string(std::strerror(errno)));
}

Result<void> print_json(Format format, const std::string& json) {
  if (format == Format::yaml) return print(TRY(json_to_yaml(json)));
  return print(json.ends_with('\n') ? json : json + '\n');
}

int print_error(const Parsed* parsed, const Error& error) {
  const auto format = parsed ? format_of(*parsed).value_or(Format::table) : Format::table;
  std::string text;
  if (format == Format::table)
    text = drawn(look_of(STDERR_FILENO, parsed && parsed->flag("no-color")), error);
  else
    text = api::to_json(error) + "\n";
  if (format == Format::yaml)
    if (auto yaml = json_to_yaml(text)) text = *std::move(yaml);
  std::fputs(text.c_str(), stderr);
  return exit_status(error.code);
}

Result<catalog::Catalog> open_catalog(const Parsed& parsed) {
  const auto folder = parsed.text("data");
  return catalog::Catalog::open(folder ? std::optional<std::filesystem::path>(*folder) : std::nullopt);
}

Result<std::unique_ptr<Session>> open_session(const Parsed& parsed) {
  auto session = std::make_unique<Session>(TRY(open_catalog(parsed)), SystemClock{}, this_user(), nullptr);
  const auto emulate = parsed.text("emulate");
  auto options = TRY(emulate ? emulated_node(session->catalog, *emulate) : real_node());
  if (emulate) session->caller.administrator = true;
  auto node = node::open_node(session->catalog, session->clock, std::move(options));
  if (!node)
    return std::unexpected(emulate ? std::move(node).error() : with_emulate_form(std::move(node).error(), parsed));
  session->node = *std::move(node);
  return session;
}

}  // namespace partita::cli
