// export, generate-config and checkpoint: the node as a file.
#include "base/file.h"
#include "base/text.h"
#include "cli/draw/done.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

Result<Format> file_format(const Parsed& parsed) {
  auto format = TRY(format_of(parsed, Format::yaml));
  if (const auto text = parsed.text("format")) {
    if (*text != "yaml" && *text != "json")
      return fail(ErrorCode::invalid, "option --format: expected yaml or json, found \"" + *text +
                                          "\"; a file to write is --output-file FILE");
    format = *text == "json" ? Format::json : Format::yaml;
  }
  if (format == Format::table)
    return fail(ErrorCode::invalid,
                std::string(parsed.verb->name) + " prints a layout file: expected -o yaml or -o json, found -o table");
  return format;
}

std::string written(const layout::MigPartedFile& file, Format format) {
  auto text = format == Format::json ? write_mig_parted_json(file) : write_mig_parted(file);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

Result<void> put(const std::optional<std::string>& path, const std::string& text) {
  if (!path || *path == "-") return print(text);
  return write_file_atomically(*path, text);
}

}  // namespace

Result<int> run_export(const Parsed& parsed) {
  const auto format = TRY(file_format(parsed));
  const auto session = TRY(open_session(parsed));
  const auto state = TRY(session->node->state());
  TRY_VOID(print(written(layout::describe(state, parsed.text("config-label").value_or("current")), format)));
  return 0;
}

Result<int> run_generate_config(const Parsed& parsed) {
  const auto format = TRY(file_format(parsed));
  const auto session = TRY(open_session(parsed));
  const auto state = TRY(session->node->state());
  TRY_VOID(put(parsed.text("output-file"), written(layout::generate(state), format)));
  return 0;
}

Result<int> run_checkpoint(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto path = parsed.text("checkpoint-file");
  if (!path) return fail(ErrorCode::invalid, "checkpoint needs a file to write: -f FILE");
  const auto session = TRY(open_session(parsed));
  const auto state = TRY(session->node->state());
  TRY_VOID(put(path, layout::write_checkpoint(state)));
  if (*path != "-") TRY_VOID(print_done(format, "saved " + count_of(state.gpus.size(), "GPU") + " to " + *path));
  return 0;
}

}  // namespace partita::cli
