// Where a report goes and in which format, for the verbs that write one.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line/parse.h"
#include "report/report.h"

namespace partita::cli {

enum class ReportFormat { html, markdown, json };

// --format, or what the file's name ends with; Markdown for standard output, HTML without a file.
Result<ReportFormat> report_format(const Parsed& parsed, const std::optional<std::string>& file);
// What a file's name ends with: .html, .htm, .md or .json; nullopt: with none of them.
std::optional<ReportFormat> format_by_name(std::string_view file);
// Those of these options that were given: " --gpus 4 --board a30-24gb", for the command that a page tells.
std::string as_typed(const Parsed& parsed, std::initializer_list<const char*> options);
std::string default_file(ReportFormat format);  // "report.html"
// `title` of the page, where there are several.
std::string written(const std::vector<report::Report>& reports, ReportFormat format, const std::string& title);

}  // namespace partita::cli
