#include "cli/draw/report_file.h"

#include "base/text.h"

namespace partita::cli {

Result<ReportFormat> report_format(const Parsed& parsed, const std::optional<std::string>& file) {
  if (const auto given = parsed.text("format")) {
    if (*given == "html") return ReportFormat::html;
    if (*given == "markdown") return ReportFormat::markdown;
    if (*given == "json") return ReportFormat::json;
    return fail(ErrorCode::invalid, "option --format: expected html, markdown or json, found " + quote(*given));
  }
  if (!file) return ReportFormat::html;
  if (const auto format = format_by_name(*file)) return *format;
  if (*file == "-") return ReportFormat::markdown;
  return fail(ErrorCode::invalid,
              "option --output-file: " + *file + " ends with neither .html, .md nor .json: say which with --format");
}

std::optional<ReportFormat> format_by_name(std::string_view file) {
  if (file.ends_with(".html") || file.ends_with(".htm")) return ReportFormat::html;
  if (file.ends_with(".md")) return ReportFormat::markdown;
  if (file.ends_with(".json")) return ReportFormat::json;
  return std::nullopt;
}

std::string as_typed(const Parsed& parsed, std::initializer_list<const char*> options) {
  std::string out;
  for (const auto* option : options)
    for (const auto& value : parsed.all(option)) out += " --" + std::string(option) + " " + shell_word(value);
  return out;
}

std::string default_file(ReportFormat format) {
  return format == ReportFormat::html ? "report.html" : format == ReportFormat::markdown ? "report.md" : "report.json";
}

std::string written(const std::vector<report::Report>& reports, ReportFormat format, const std::string& title) {
  if (format == ReportFormat::html)
    return reports.size() == 1 ? report::to_html(reports.front()) : report::to_html(reports, title);
  std::vector<std::string> texts;
  for (const auto& each : reports)
    texts.push_back(format == ReportFormat::markdown ? report::to_markdown(each) : report::to_json(each));
  for (auto& text : texts)
    while (text.ends_with('\n')) text.pop_back();
  if (format == ReportFormat::json && texts.size() != 1) return "[\n" + join(texts, ",\n") + "\n]\n";
  return join(texts, "\n\n") + '\n';
}

}  // namespace partita::cli
