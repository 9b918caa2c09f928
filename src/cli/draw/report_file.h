// Where a report goes and in which format, for the verbs that write one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/parse.h"
#include "report/report.h"

namespace partita::cli {

enum class ReportFormat { html, markdown, json };

// --format, or what the file's name ends with; Markdown for standard output, HTML without a file.
Result<ReportFormat> report_format(const Parsed& parsed, const std::optional<std::string>& file);
// By the end of a file's name alone: .md, .json, else HTML.
ReportFormat format_by_name(const std::string& file);
std::string default_file(ReportFormat format);  // "report.html"
// `title` of the page, where there are several.
std::string written(const std::vector<report::Report>& reports, ReportFormat format, const std::string& title);

}  // namespace partita::cli
