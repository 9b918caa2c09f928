#include "cli/common.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/json.h"
#include "base/json_to_yaml.h"

namespace partita::cli {
namespace {

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

void tell(const Parsed& parsed, std::string_view line) {
  const auto look = look_of(STDERR_FILENO, parsed.flag("no-color"));
  std::fputs((paint(look, Tone::faint, "partita: ") + printable(line) + '\n').c_str(), stderr);
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

}  // namespace partita::cli
